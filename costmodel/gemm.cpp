#include "costmodel/efficiency.h"
#include "costmodel/gemm_fits.h"
#include "costmodel/kernels.h"

namespace plait {
namespace {

// t = t0 + max(F / (e P), B / (b BW)), F = 2 m n k batch, B every operand once.
Cost datasheet_cost(const MatMul& op, const Device& device, double slowdown) {
  const GemmFit fit = gemm_fit(device, op.in);
  const Seconds compute = hardware_flops(op) / (device.peak(op.in) * (fit.flops / slowdown));
  const Seconds memory = memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth);
  return roofline(fixed_time(device, fit.fixed), compute, memory, fit.quality);
}

}  // namespace

Cost gemm_cost(const MatMul& op, const Device& device, double slowdown) {
  if (op.batch == 0 || op.m == 0 || op.n == 0 || op.k == 0) return {};
  const TiledGemm* alone = tiled_gemm(device, op.in);
  if (alone == nullptr) return datasheet_cost(op, device, slowdown);
  TiledGemm fit = *alone;
  fit.flops /= slowdown;
  return cost_of(tiled_time(fit, op, device), tiled_quality(device, op.in), device);
}

}  // namespace plait
