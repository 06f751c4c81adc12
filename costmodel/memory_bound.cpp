#include <algorithm>

#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

StreamKind kind_of(const Compute& op) {
  if (std::holds_alternative<Norm>(op)) return StreamKind::kNorm;
  if (std::holds_alternative<Activation>(op)) return StreamKind::kActivation;
  if (std::holds_alternative<Rope>(op)) return StreamKind::kRope;
  if (std::holds_alternative<Embedding>(op)) return StreamKind::kEmbedding;
  if (std::holds_alternative<CrossEntropy>(op)) return StreamKind::kSoftmax;
  return StreamKind::kCopy;
}

// Fraction of the memory bandwidth at `bytes`: the L2 value up to half the cache, the memory value
// from the whole cache on, 1/b linear between (Vidur's profiles switch between 0.5 and 1 times L2).
// 1/b never falls, so more bytes never take less time.
double fraction(const StreamFit& fit, Bytes bytes, Bytes cache) {
  if (cache.value <= 0) return fit.bandwidth;
  const double fill = static_cast<double>(bytes.value) / static_cast<double>(cache.value);
  const double from_memory = std::clamp(2 * fill - 1, 0.0, 1.0);
  return 1 / ((1 - from_memory) / fit.l2 + from_memory / fit.bandwidth);
}

}  // namespace

Cost memory_bound_cost(const Compute& op, const Device& device) {
  const Bytes bytes = memory_traffic(op);
  if (bytes.value == 0) return {};
  const StreamFit fit = stream_fit(device, kind_of(op));
  const double b = fraction(fit, bytes, device.l2_cache);
  const Seconds memory = bytes / (device.memory_bandwidth * b);
  const Seconds compute =
      device.vector_fp32.value > 0 ? hardware_flops(op) / device.vector_fp32 : Seconds();
  Cost cost;
  cost.provenance = fit.quality.provenance;
  cost.band = fit.quality.band;
  cost.share[kLaunchOverhead] = fixed_time(device, fit.fixed);
  cost.share[compute > memory ? kPeakFlops : kMemoryBandwidth] = std::max(compute, memory);
  return cost;
}

}  // namespace plait
