#pragma once
// Casts to 8 and 4 bits. Those to nvfp4 take several kernels in training (Transformer Engine,
// NVFP4Quantizer::quantize_impl in pytorch/csrc/quantizer.cpp): one reads all for the largest
// magnitudes, of rows and, `rotated`, of what the Hadamard transform makes of columns. Then one
// kernel writes rows and columns, or, where columns are rotated, one for each (nvte_quantize_v2,
// nvte_hadamard_transform_cast_fusion_columnwise). Each reads the whole again:
//   t = f (A(n e) + K Q(n e + c 9 n / 16 / K))
// of n elements of e bytes in c copies by K kernels; A and Q are the streams kAmax and kQuantise,
// which are of inference engines, f what Transformer Engine's take of that.
// Of engines that know the magnitudes (Cast::scaled) the last kernel is all: A is 0 and f 1.

#include "costmodel/kernels.h"

namespace plait {

/// The cast is to 8 bits, by a scale that is not known before: not of what is in 8 bits already.
bool finds_scale(const Cast& op);

/// The cast is to nvfp4.
bool is_to_nvfp4(const Cast& op);
Cost nvfp4_cast_cost(const Cast& op, const Device& device);
/// What its kernels move.
Bytes nvfp4_cast_bytes(const Cast& op);

}  // namespace plait
