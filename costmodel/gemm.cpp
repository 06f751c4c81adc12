#include <array>

#include "costmodel/efficiency.h"
#include "costmodel/gemm_fits.h"
#include "costmodel/kernels.h"
#include "costmodel/llama_cpp_products.h"

namespace plait {
namespace {

// t = t0 + max(F / (e P), B / (b BW)), F = 2 m n k batch, B every operand once.
Cost datasheet_cost(const MatMul& op, const Device& device, double slowdown) {
  const GemmFit fit = gemm_fit(device, op.in);
  const Seconds compute =
      hardware_flops(op) /
      (device.peak(op.in) * (matmul_yield(device, op.in) * fit.flops / slowdown));
  const Seconds memory = memory_traffic(op) / (device.memory_bandwidth * fit.bandwidth);
  return roofline(fixed_time(device, fit.fixed), compute, memory, fit.quality);
}

/// Elements from the start of a row of A, B and the result, as they are stored, to the next one.
std::array<std::int64_t, 3> row_lengths(const MatMul& op) {
  switch (op.layout) {
    case GemmLayout::kNT: return {op.k, op.k, op.n};
    case GemmLayout::kNN: return {op.k, op.n, op.n};
    case GemmLayout::kTN: return {op.m, op.n, op.n};
  }
  return {};
}

bool rows_are_aligned(const MatMul& op) {
  constexpr std::int64_t kBytes = 16;  // cuBLAS, "Tensor Core Usage"; TMA's global strides
  const auto [a, b, out] = row_lengths(op);
  return a * size_of(op.in) % kBytes == 0 && b * size_of(op.in) % kBytes == 0 &&
         out * size_of(op.out) % kBytes == 0;
}

// Rows that do not start at multiples of 16 bytes leave cuBLAS the kernels that load element by
// element (cutlass_75_tensorop_*_align1 in pytorch/pytorch issue 181718), without asynchronous
// copies, wgmma or TMA. A100: a vocabulary of 50,257 for 50,304 makes GPT-2 124M 1.07 us a token
// slower, whose 232 MFLOP with the vocabulary take 1.03 us else: 2.0 (Raschka, LLMs-from-scratch,
// ch05/10: 112,046 and 127,345 tokens/s). H100: 71 to 115 TFLOP/s for k of 511 to 3,073, odd,
// whose neighbours reach 350 to 620: 5 (float8_experimental pull request 145). Others as these.
double misalignment(const MatMul& op, const Device& device) {
  if (size_of(op.in) != 2 || op.weights != WeightFormat::kPlain || rows_are_aligned(op)) return 1;
  switch (generation_of(device)) {
    case Generation::kCpu:
    case Generation::kCdna: return 1;
    case Generation::kVolta:
    case Generation::kAmpere: return 2;
    case Generation::kHopper:
    case Generation::kBlackwell: return 5;
  }
  return 1;
}

// Batches of such products (attention of heads that are no multiple of 8 wide, or of such a
// sequence) run outside of the matrix units before Hopper, at this part of the fp32 peak. PyTorch's
// attention in fp16 on A100, 197 keys, heads of 64: 1,731 us forward for 1,024 heads, 1,810 us
// backward for 384, of which what is no product takes 400 and 485 as for sequences of 128 and 256,
// which leaves 7.7 and 5.8 TFLOP/s of 19.5 (facebookresearch/xformers pull requests 434, 467, 405).
constexpr double kOutsideOfMatrixUnits = 0.34;

bool leaves_matrix_units(const MatMul& op, const Device& device) {
  const Generation generation = generation_of(device);
  return op.batch > 1 && (generation == Generation::kVolta || generation == Generation::kAmpere);
}

Cost outside_of_matrix_units(const MatMul& op, const Device& device, double slowdown) {
  const GemmFit plain = gemm_fit(device, op.in);
  const Seconds compute =
      hardware_flops(op) / (device.vector_fp32 * (kOutsideOfMatrixUnits / slowdown));
  return roofline(fixed_time(device, plain.fixed), compute,
                  memory_traffic(op) / (device.memory_bandwidth * plain.bandwidth),
                  {Provenance::kDatasheet, 0.4});
}

}  // namespace

Cost gemm_cost(const MatMul& op, const Device& device, double slowdown) {
  if (op.batch == 0 || op.m == 0 || op.n == 0 || op.k == 0) return {};
  if (runs_as_in_llama_cpp(op, device)) return llama_cpp_product_cost(op, device, slowdown);
  const double misaligned = misalignment(op, device);
  if (misaligned > 1 && leaves_matrix_units(op, device))
    return outside_of_matrix_units(op, device, slowdown);
  slowdown *= misaligned;
  const TiledGemm* alone = tiled_gemm(device, op.in, op.weights);
  if (alone == nullptr) return datasheet_cost(op, device, slowdown);
  TiledGemm fit = *alone;
  fit.flops *= matmul_yield(device, op.in) / slowdown;
  return cost_of(tiled_time(fit, op, device), tiled_quality(device, op.in, op.weights), device);
}

}  // namespace plait
