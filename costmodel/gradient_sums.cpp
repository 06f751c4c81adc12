#include "costmodel/gradient_sums.h"

#include "costmodel/autocast_chains.h"

namespace plait {
namespace {

bool is_of_weights(Pass pass) { return pass == Pass::kWeightGrad || pass == Pass::kBackward; }

/// Reads what was written apart, and reads and writes the sum.
KernelChain sum_of(std::int64_t elements, DType written, DType sum) {
  const KernelChain chain{Bytes(elements * (size_of(written) + 2 * size_of(sum))), 1};
  return written == sum ? chain : mixed_sum(chain, elements);
}

}  // namespace

DType written_alone(const MatMul& op) {
  const bool narrow = op.in == DType::kNvfp4 || op.in == DType::kFp8;
  return narrow ? DType::kBf16 : op.in;
}

KernelChain rescale_chain(const MatMul& op) {
  if (!op.rescaled) return {};
  return {Bytes(2 * op.batch * op.m * op.n * size_of(op.out)), 1};
}

KernelChain gradient_sum_chain(const MatMul& op, const Kernels& kernels) {
  if (kernels.gradient_sum == Fusion::kFused || !op.accumulate || !is_of_weights(op.pass))
    return {};
  return sum_of(op.batch * op.m * op.n, written_alone(op), op.out);
}

KernelChain table_sum_chain(const Embedding& op, const Kernels& kernels) {
  if (kernels.table_gradient == Fusion::kFused || !op.accumulate || !is_of_weights(op.pass))
    return {};
  return sum_of(op.vocab * op.width, op.dtype, op.grad_dtype);
}

// PyTorch aten/src/ATen/native/cuda/Embedding.cu, embedding_dense_backward_cuda: as many rows as
// the table has, which start from zeros, in the type of what was looked up.
KernelChain table_gradient_chain(const Embedding& op, const Kernels& kernels) {
  KernelChain chain = table_sum_chain(op, kernels);
  if (chain.kernels == 0) return chain;
  chain.bytes += Bytes(op.vocab * op.width * size_of(op.dtype));
  chain.kernels += 1;
  return chain;
}

}  // namespace plait
