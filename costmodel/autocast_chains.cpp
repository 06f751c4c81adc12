#include "costmodel/autocast_chains.h"

#include <algorithm>

namespace plait {
namespace {

/// A sum of two types, cast in passing, takes longer than what is one element at a time otherwise:
/// 255e9 of 294e9 a second in a LLaMA of 3 billion parameters on an H200, 243 and 258e9 in two
/// GPTs, and on an H100, where these are 287e9, 225 to 247e9 in ten steps (reports/gpu).
constexpr double kMixedSum = 294.0 / 255;

}  // namespace

int copies_by_autocast(const Cast& op, const Kernels& kernels) {
  const auto& columns = op.packed.columns;
  const bool apart = (op.packed.gate ? kernels.gate : kernels.qkv) == Fusion::kEager;
  if (!op.autocast || !apart) return 1;
  const auto projections = std::ranges::count_if(columns, [](auto n) { return n > 0; });
  return std::max(1, static_cast<int>(projections));
}

// By PyTorch's copies between types: to fp32 one element at a time (unrolled_elementwise_kernel),
// from fp32 several (vectorized_elementwise_kernel), as logits and their gradients in
// reports/gpu/h200/torch-kernels.json: 802 us for 262e6 there, 357 back, 4.4 TB/s. Each projection
// that is run by itself casts its input, and its input's gradient, which autograd then adds to
// those of the others in the type of that input (12 bytes in fp32). A weight's gradient is added to
// the sum behind its cast: read both, write one.
KernelChain autocast_chain(const Cast& op, const Kernels& kernels) {
  const int casts = copies_by_autocast(op, kernels);
  const bool widens = size_of(op.to) > size_of(op.from);
  const int sums = op.accumulate ? 1 : widens ? casts - 1 : 0;
  const std::int64_t elements = casts * op.elements, wide = size_of(op.to);
  KernelChain out{Bytes(elements * (size_of(op.from) + wide)), casts};
  if (widens) out = one_at_a_time(out, elements);
  out.bytes += Bytes(std::int64_t{3} * sums * op.elements * wide);
  out.kernels += sums;
  return out;
}

KernelChain mixed_sum(KernelChain chain, std::int64_t elements) {
  KernelChain out = one_at_a_time(chain, elements);
  out.indexed *= kMixedSum;
  return out;
}

// As norm_chain of eager.cpp has it for s = 4, without the casts to and from fp32: forward two of s
// + 4, of which the first takes one element at a time; backward alike.
KernelChain fp32_norm_chain(const Norm& op) {
  const bool forward = op.pass == Pass::kForward, gamma = op.pass != Pass::kInputGrad;
  const std::int64_t elements = op.rows * op.width;
  KernelChain out{Bytes((forward ? 28 : gamma ? 76 : 56) * elements), forward ? 5 : gamma ? 11 : 9};
  out.indexed = (forward ? 2 : 3) * static_cast<double>(elements);
  out.indexed_bytes = Bytes((forward ? 16 : 28) * elements);
  return out;
}

bool promotes(const Rope& op) { return op.promoted && size_of(op.dtype) < size_of(DType::kFp32); }

// Under autocast cos and sin are as wide as the residual stream (transformers,
// LlamaRotaryEmbedding: to the type of its input). Forward products with them (s + 4 each), the
// negated half (s), the concatenation (2 s) and a sum in fp32 (12), one element at a time, and its
// cast (4 + s) for attention. Backward the cast of the gradient (s + 4), products in fp32 (8 each),
// casts of both (4 + s), two padded slices, the negation and the fan-in (9 s): one element at a
// time all but the casts to 16 bits and zeros (3 s). Of queries and of keys.
KernelChain promoted_rope_chain(const Rope& op) {
  const std::int64_t s = size_of(op.dtype), elements = op.rows * op.width;
  const bool forward = op.pass == Pass::kForward;
  KernelChain out{Bytes((forward ? 6 * s + 24 : 12 * s + 28) * elements), 2 * (forward ? 6 : 10)};
  out.indexed = (forward ? 4.5 : 5.5) * static_cast<double>(elements);
  out.indexed_bytes = Bytes((forward ? 5 * s + 20 : 7 * s + 20) * elements);
  return out;
}

}  // namespace plait
