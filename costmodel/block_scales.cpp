#include "costmodel/block_scales.h"

namespace plait {
namespace {

// On Hopper scales multiply partial sums in fp32 registers. Over bf16 products of inputs' blocks of
// 1 x 128 and weights' of 128 x 128 are 1.66 and 1.67 times as fast on H100 (pytorch/ao pull
// request 2784: 16,640 x 5,120 x 8,192 and 16,640 x 8,192 x 5,120), those of weights' gradients,
// with 1 x 128 on both sides, 1.34 and 1.35 times (pull request 3342, H100 PCIe), and those with
// one scale 1.85 times (reports/gpu/h100/torch-rows.json, the median of 8,192 and more rows).
constexpr double kHopperProduct = 1.85 / 1.665, kHopperGradient = 1.85 / 1.345;

// Transformer Engine, docs/examples/gemm_profiling/gemm_profiling.rst, twelve products of a layer
// of 4,096 and 16,384 columns and 15,872 tokens in ms. B300: 6.812 with one scale, 7.161 in MXFP8,
// whose scales are put in cuBLAS's order first.
constexpr double kBlackwellProduct = 7.161 / 6.812;

// The same products with their casts, of inputs to both forms and of weights to one, take 8.984 in
// MXFP8 on B300 and 22.882 with blocks of 128 on H200 NVL. What is beyond the products
// (there 16.785 with one scale, times kHopperProduct: all are forward products) is so many times
// what casts by a known scale take here, 1.260 and 2.052.
constexpr double kHopperCast = (22.882 - 16.785 * kHopperProduct) / 2.052;
constexpr double kBlackwellCast = (8.984 - 7.161) / 1.260;

}  // namespace

double block_scaled_product(const MatMul& op, const Device& device) {
  switch (generation_of(device)) {
    case Generation::kHopper:
      return op.pass == Pass::kWeightGrad ? kHopperGradient : kHopperProduct;
    case Generation::kBlackwell: return kBlackwellProduct;
    case Generation::kCpu:
    case Generation::kVolta:
    case Generation::kAmpere:
    case Generation::kCdna: return 1;
  }
  return 1;
}

double block_scaled_cast(const Device& device) {
  switch (generation_of(device)) {
    case Generation::kHopper: return kHopperCast;
    case Generation::kBlackwell: return kBlackwellCast;
    case Generation::kCpu:
    case Generation::kVolta:
    case Generation::kAmpere:
    case Generation::kCdna: return 1;
  }
  return 1;
}

}  // namespace plait
