#pragma once
// Reductions over the threads of a block, in an order that does not vary. Used inside kernels only.

#include "kernels/cuda/launch.h"

namespace plait::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;
inline constexpr unsigned kWarp = 32;

struct Plus {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

template <class Op, class T>
__device__ T reduce_warp(T x, Op op) {
#pragma unroll
  for (int flip = kWarp / 2; flip > 0; flip /= 2) x = op(x, __shfl_xor_sync(kAllLanes, x, flip));
  return x;
}

/// op over all threads of a one-dimensional block of whole warps; every thread gets the result.
template <class Op, class T>
__device__ T reduce_block(T x, T neutral, Op op) {
  __shared__ T of_warps[kWarp];
  const unsigned warps = blockDim.x / kWarp, lane = threadIdx.x % kWarp;
  x = reduce_warp(x, op);
  if (lane == 0) of_warps[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = reduce_warp(lane < warps ? of_warps[lane] : neutral, op);
  __syncthreads();  // before of_warps is written again
  return x;
}
template <class T>
__device__ T sum_block(T x) {
  return reduce_block(x, T(0), Plus{});
}

}  // namespace plait::kernels::cuda
