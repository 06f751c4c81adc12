#pragma once
// Casts to quantised tensors and back (plan/strategies/quantized.cpp): (shares, bytes) or (ranks,
// nodes, bytes), with scales (shares, blocks) or (ranks, nodes, blocks).

#include <cstdint>

#include "plan/tensor.h"

namespace plait {

inline bool is_quantized(const Tensor& t) { return t.dtype == DType::kInt8; }

/// Shares of `in`, which has them node by node, in the order of the quantised tensor.
template <class T>
void quantize_shares(std::uint8_t* out, const Tensor& numbers, T* scales, const Tensor& of_scales,
                     const T* in, const Tensor& from, const Mesh& mesh);

/// All shares one behind the other; or, where a sum is owed, the sum over shares (over ranks, for
/// each node).
template <class T>
void restore_shares(T* out, const Tensor& to, const std::uint8_t* in, const Tensor& numbers,
                    const T* scales, const Tensor& of_scales, const Mesh& mesh);

}  // namespace plait
