#include "costmodel/product_cost.h"

#include "costmodel/block_scales.h"
#include "costmodel/efficiency.h"
#include "costmodel/kernels.h"
#include "costmodel/launches.h"
#include "costmodel/power_limit.h"
#include "costmodel/served_experts.h"

namespace plait {
namespace {

// On Hopper the sums of 8-bit products lose digits unless partial ones are moved to fp32 registers,
// which gradients are computed with and forward passes without (Transformer Engine's DelayedScaling
// recipe, torchao's Float8LinearConfig). Products without that are what the fits are made of; they
// are 1.1 to 1.2 times as fast (pytorch/ao issue 2377), with cuBLAS 13 1.03 to 1.04 times
// (reports/gpu/h100/torch-rows.json, medians of 24 on H200 and H100). Blackwell has no such choice.
double promoted(Cublas cublas) {
  switch (cublas) {
    case Cublas::k12: return 1.15;
    case Cublas::k13: return 1.035;
  }
  return 1;
}
double promoted_sums(const MatMul& op, const Device& device, const Kernels& kernels) {
  if (op.in != DType::kFp8) return 1;
  if (kernels.amax == Fusion::kBlocks) return block_scaled_product(op, device);
  const bool exact = op.pass != Pass::kForward && generation_of(device) == Generation::kHopper;
  return exact ? promoted(kernels.cublas) : 1;
}

// Experts one after the other take the sum of their times, although GroupedLinear deals them to
// four streams: 16 of (2,048, 768, 2,048) on H100 554 TFLOP/s, 8 of (4,096, 768, 2,048) 628
// (TransformerEngine pull request 2045, TE 2.7); the sums of our times say 546 and 643, one product
// of all 703 and 716.
Cost experts_cost(MatMul op, const Device& device, const Kernels& kernels, double slowdown) {
  const std::int64_t experts = experts_apart(op, kernels);
  if (experts == 1) return gemm_cost(op, device, slowdown);
  op.batch = 1;
  return static_cast<double>(experts) * gemm_cost(op, device, slowdown);
}

}  // namespace

Cost product_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const double slowdown = between_other_kernels(device) * products_slowed_by_power(device);
  if (op.served && served_experts(op, device, kernels.amax) != nullptr)
    return served_experts_cost(op, device, kernels.amax, slowdown);
  return experts_cost(op, device, kernels, slowdown * promoted_sums(op, device, kernels));
}

}  // namespace plait
