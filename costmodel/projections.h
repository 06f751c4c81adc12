#pragma once
// Projections of one input that a framework runs one by one where a plan has one product of a
// packed matrix: queries, keys and values, gate and up. docs/models/gemm.md says who does so.

#include <array>

#include "costmodel/eager.h"
#include "model/kernels.h"
#include "plan/op.h"

namespace plait {

/// What a product is run as, one after the other.
struct Products {
  std::array<MatMul, 3> each;
  int count = 1;
};
Products as_run(const MatMul& op, const Kernels& kernels);
/// The sums of their input gradients, behind them.
KernelChain input_sum_chain(const MatMul& op, const Kernels& kernels);
/// How many all_reduces the sum of an input's gradient over tp is run as.
std::int64_t all_reduces_of(const Collective& op, const Kernels& kernels);

}  // namespace plait
