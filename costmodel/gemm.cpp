#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"

namespace plait {
// t = t0 + max(F / (e P), B / (b BW)), F = 2 m n k batch, B every operand once. Tile and wave
// quantisation are inside e; they matter for 64 < m < 512 (docs/models/gemm.md).
Cost gemm_cost(const MatMul& op, const Device& device) {
  if (op.batch == 0 || op.m == 0 || op.n == 0 || op.k == 0) return {};
  const GemmFit fit = gemm_fit(device, op.in);
  const Seconds compute = hardware_flops(op) / (device.peak(op.in) * fit.flops);
  const Seconds memory = memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth);
  return roofline(fixed_time(device, fit.fixed), compute, memory, fit.quality);
}

}  // namespace plait
