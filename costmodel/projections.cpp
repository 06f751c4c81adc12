#include "costmodel/projections.h"

#include <numeric>

namespace plait {
namespace {

bool one_by_one(const MatMul& op, const Kernels& kernels) {
  if (op.batch != 1 || op.packed.columns[1] == 0) return false;
  return (op.packed.gate ? kernels.gate : kernels.qkv) == Fusion::kEager;
}

/// The dimension along which the projections lie side by side.
std::int64_t& columns_of(MatMul& op) {
  switch (op.pass) {
    case Pass::kInputGrad: return op.k;
    case Pass::kWeightGrad: return op.m;
    case Pass::kForward:
    case Pass::kBackward:
    case Pass::kOptimizer: return op.n;
  }
  return op.n;
}

}  // namespace

Products as_run(const MatMul& op, const Kernels& kernels) {
  if (!one_by_one(op, kernels)) return {{op}};
  const auto& columns = op.packed.columns;
  const std::int64_t all = std::accumulate(columns.begin(), columns.end(), std::int64_t{0});
  Products out{{}, 0};
  for (const std::int64_t n : columns) {
    if (n == 0) continue;
    MatMul& one = out.each[static_cast<std::size_t>(out.count++)];
    one = op, one.packed = {};
    columns_of(one) = columns_of(one) * n / all;
  }
  return out;
}

// Autograd adds up what the products yield for their input as they come: each but the first is
// read with the sum, which is written.
KernelChain input_sum_chain(const MatMul& op, const Kernels& kernels) {
  if (op.pass != Pass::kInputGrad || op.autocast) return {};  // by the cast behind
  const int sums = as_run(op, kernels).count - 1;
  return {Bytes(std::int64_t{3} * sums * op.m * op.n * size_of(op.out)), sums};
}

std::int64_t all_reduces_of(const Collective& op, const Kernels& kernels) {
  const bool each = kernels.input_sums == Fusion::kEager && op.kind == CollectiveKind::kAllReduce;
  return each ? op.projections : 1;
}

}  // namespace plait
