#include <algorithm>

#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

StreamKind kind_of(const Compute& op) {
  if (std::holds_alternative<Norm>(op) || std::holds_alternative<HeadNorm>(op))
    return StreamKind::kNorm;
  if (std::holds_alternative<Activation>(op)) return StreamKind::kActivation;
  if (std::holds_alternative<Rope>(op)) return StreamKind::kRope;
  if (std::holds_alternative<Embedding>(op)) return StreamKind::kEmbedding;
  if (std::holds_alternative<CrossEntropy>(op)) return StreamKind::kSoftmax;
  if (std::holds_alternative<Route>(op)) return StreamKind::kSoftmax;
  if (std::holds_alternative<Dispatch>(op) || std::holds_alternative<Combine>(op))
    return StreamKind::kActivation;  // whole rows, in no order
  return StreamKind::kCopy;
}

}  // namespace

// Half of the cache holds what the kernel before has written: that is what add saves at any size in
// Vidur's profiles.
Bytes uncached(Bytes bytes, const Device& device) {
  return Bytes(std::max<std::int64_t>(0, bytes.value - device.l2_cache.value / 2));
}

// More bytes never take less time.
Seconds stream_time(const StreamFit& fit, Bytes bytes, const Device& device) {
  const auto all = static_cast<double>(bytes.value);
  const double cached = std::min(all, static_cast<double>(device.l2_cache.value) / 2);
  return Seconds((cached / fit.l2 + (all - cached) / fit.bandwidth) /
                 device.memory_bandwidth.value);
}

Cost memory_bound_cost(const Compute& op, const Device& device) {
  const Bytes bytes = memory_traffic(op);
  if (bytes.value == 0) return {};
  const StreamFit fit = stream_fit(device, kind_of(op));
  const Seconds memory = stream_time(fit, bytes, device);
  const Seconds compute =
      device.vector_fp32.value > 0 ? hardware_flops(op) / device.vector_fp32 : Seconds();
  return roofline(fixed_time(device, fit.fixed), compute, memory, fit.quality);
}

}  // namespace plait
