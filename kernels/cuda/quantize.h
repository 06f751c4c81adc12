#pragma once
// Numbers as small integers with a scale per block on the device: kernels/quantize.h, T = float or
// bf16, the integers and scales those of the twin.

#include "kernels/cuda/queue.h"
#include "kernels/quantize.h"

namespace plait::kernels::cuda {

/// out[ranks, nodes, bytes] and scales[ranks, nodes, blocks] of x[nodes, ranks, n].
template <class T>
void quantize_shares(const Queue& q, std::uint8_t* out, float* scales, const T* x,
                     const QuantizedShares& shares);

/// x[ranks, nodes, n]; or where `adds`, x[nodes, n], the sums over ranks in their order.
template <class T>
void dequantize_shares(const Queue& q, T* x, const std::uint8_t* in, const float* scales,
                       const QuantizedShares& shares, bool adds);

}  // namespace plait::kernels::cuda
