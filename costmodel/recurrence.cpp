// Ops of state-space mixers and gated delta nets, none of which was measured here: kernels that
// stream their operands, at what a copy reaches of the memory bandwidth, and products at the data
// sheet's peak where these take longer, which they do nowhere near the published shapes:
// Nemotron-H-8B's forward scan moves 0.2 MB for 5 MFLOP of a token, as long as 50 MFLOP at H100's
// peak.
#include <algorithm>
#include <variant>
#include <vector>

#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

/// Between the least traffic at a copy's bandwidth and twice that.
constexpr Quality kUnmeasured{Provenance::kExtrapolated, 0.5};

Cost kernel_cost(Bytes bytes, Flops flops, DType dtype, const Device& device) {
  const StreamFit fit = stream_fit(device, StreamKind::kCopy);
  const Seconds compute = flops.value > 0 ? flops / device.peak(dtype) : Seconds();
  return roofline(fixed_time(device, fit.fixed), compute, stream_time(fit, bytes, device),
                  kUnmeasured);
}

/// Of an op that is several.
std::vector<KernelWork> kernels_of(const Compute& op) {
  if (const auto* scan = std::get_if<Scan>(&op)) return scan_kernels(*scan);
  if (const auto* rule = std::get_if<DeltaRule>(&op)) return delta_rule_kernels(*rule);
  return {};
}

}  // namespace

bool is_of_recurrence(const Compute& op) {
  return std::holds_alternative<CausalConv>(op) || std::holds_alternative<Scan>(op) ||
         std::holds_alternative<DeltaRule>(op) || std::holds_alternative<GatedNorm>(op);
}

Cost recurrence_cost(const Compute& op, const Device& device) {
  Cost cost;
  if (const auto kernels = kernels_of(op); !kernels.empty()) {
    for (const KernelWork& kernel : kernels) {
      cost = cost + kernel_cost(Bytes(kernel.bytes), Flops(kernel.run), compute_dtype(op), device);
    }
  } else if (memory_traffic(op).value > 0) {
    cost = kernel_cost(memory_traffic(op), {}, DType::kFp32, device);
  }
  cost.provenance = kUnmeasured.provenance, cost.band = kUnmeasured.band;
  return cost;
}

}  // namespace plait
