#include "costmodel/product_cost.h"

#include "costmodel/block_scales.h"
#include "costmodel/chain_cost.h"
#include "costmodel/efficiency.h"
#include "costmodel/gradient_sums.h"
#include "costmodel/kernels.h"
#include "costmodel/power_limit.h"
#include "costmodel/projections.h"
#include "costmodel/served_experts.h"
#include "costmodel/torch_rows.h"

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
  if (op.served && served_experts(op, device) != nullptr)
    return served_experts_cost(op, device, slowdown);
  if (kernels.experts == Fusion::kFused || op.batch <= 1) return gemm_cost(op, device, slowdown);
  const auto experts = static_cast<double>(op.batch);
  op.batch = 1;
  return experts * gemm_cost(op, device, slowdown);
}

Cost one_product_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const double slowdown = between_other_kernels(device) * products_slowed_by_power(device) *
                          promoted_sums(op, device, kernels);
  const KernelChain sum = gradient_sum_chain(op, kernels);
  MatMul alone = op;
  if (sum.kernels > 0) {
    alone.accumulate = false;
    alone.out = written_alone(op);
  }
  return experts_cost(alone, device, kernels, slowdown) + chain_cost(rescale_chain(alone), device) +
         chain_cost(sum, device);
}

/// Of a weight's gradient with a bias, which the product does not sum: dy[k, m].
Cost bias_gradient_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const bool here = op.bias && !is_forward(op.pass) && op.pass != Pass::kInputGrad;
  if (!here) return {};
  return torch_rows_cost(BiasGrad{op.k, op.m, op.in}, device, kernels).value_or(Cost());
}

}  // namespace

Cost product_cost(const MatMul& op, const Device& device, const Kernels& kernels) {
  const Products products = as_run(op, kernels);
  Cost cost = chain_cost(input_sum_chain(op, kernels), device);
  for (int i = 0; i < products.count; ++i) {
    const MatMul& one = products.each[static_cast<std::size_t>(i)];
    cost = cost + one_product_cost(one, device, kernels) + bias_gradient_cost(one, device, kernels);
  }
  return cost;
}

}  // namespace plait
