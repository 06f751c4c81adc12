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

/// Rows up to which llama.cpp multiplies quantised weights as a matrix by vectors (ggml-cuda/mmvq,
/// MMVQ_MAX_BATCH_SIZE).
constexpr std::int64_t kMostVectors = 8;

// Outside of the matrix units, whose tiles a few rows leave empty; B is streamed as it is for any
// product. A kernel before it narrows the input.
Cost matrix_vector_cost(const MatMul& op, const Device& device) {
  const TiledGemm* tiled = tiled_gemm(device, op.in);
  const GemmFit plain = gemm_fit(device, op.in);
  const double bandwidth = tiled == nullptr ? plain.bandwidth : tiled->bandwidth;
  const Seconds start = tiled == nullptr ? plain.fixed : Seconds(tiled->fixed_us * 1e-6);
  const Seconds narrow = stream_fit(device, StreamKind::kCopy).fixed;
  return roofline(fixed_time(device, start + narrow), hardware_flops(op) / device.vector_fp32,
                  memory_traffic(op) / (device.memory_bandwidth * bandwidth),
                  {Provenance::kDatasheet, 0.3});
}

}  // namespace

Cost gemm_cost(const MatMul& op, const Device& device, double slowdown) {
  if (op.batch == 0 || op.m == 0 || op.n == 0 || op.k == 0) return {};
  if (op.weights != WeightFormat::kPlain && op.m <= kMostVectors)
    return matrix_vector_cost(op, device);
  const TiledGemm* alone = tiled_gemm(device, op.in);
  if (alone == nullptr) return datasheet_cost(op, device, slowdown);
  TiledGemm fit = *alone;
  fit.flops /= slowdown;
  return cost_of(tiled_time(fit, op, device), tiled_quality(device, op.in), device);
}

}  // namespace plait
