#pragma once
// What casts to quantised tensors and back ask of kernels (plan/strategies/quantized.cpp).

#include "kernels/quantize.h"
#include "plan/tensor.h"

namespace plait {

inline bool is_quantized(const Tensor& t) { return t.dtype == DType::kInt8; }
/// Its shares come from several ranks and are to be added.
inline bool owes_sum(const Tensor& numbers) { return !numbers.partial.empty(); }

/// `numbers` are (shares, bytes) or (ranks, nodes, bytes), `scales` the same with blocks; `whole`
/// is what was quantised or becomes of it.
kernels::QuantizedShares shares_of(const Tensor& numbers, const Tensor& scales, const Tensor& whole,
                                   const Mesh& mesh);

}  // namespace plait
