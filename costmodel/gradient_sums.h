#pragma once
// Sums of gradients over microbatches, and their scales, where they are kernels of their own.
// docs/models/memory-bound.md, `gradient_sum` and `table_gradient`.

#include "costmodel/eager.h"

namespace plait {

/// What a product of operands as the op's writes where the sum with others is a kernel of its own.
DType written_alone(const MatMul& op);
/// Of a product of 8-bit operands with a scale for each row: its result, times these.
KernelChain rescale_chain(const MatMul& op);
/// The sum of a weight's gradients, besides the product that then only writes them.
KernelChain gradient_sum_chain(const MatMul& op, const Kernels& kernels);
/// What makes the gradient of a table whole and adds it to the sum, besides the rows of the tokens.
KernelChain table_gradient_chain(const Embedding& op, const Kernels& kernels);
/// The sum alone.
KernelChain table_sum_chain(const Embedding& op, const Kernels& kernels);

}  // namespace plait
