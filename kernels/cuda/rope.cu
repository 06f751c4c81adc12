// A block takes a token at a time: first a table of its position's cosines and sines, then all
// heads. Angles are products in double, reduced to one turn before float takes over: positions go
// beyond what float resolves.

#include <cmath>

#include "core/error.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/rope.h"

namespace plait::kernels::cuda {
namespace {

constexpr std::int64_t kMostPairs = 512;
constexpr double kTurn = 6.28318530717958647692;

/// cosines and sines of all pairs at a position. log2_theta says how wavelengths grow.
__device__ void tabulate(float* cosines, float* sines, std::int64_t position, std::int64_t head_dim,
                         double log2_theta, float direction) {
  for (std::int64_t i = threadIdx.x; i < head_dim / 2; i += blockDim.x) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
    const double angle = static_cast<double>(position) * exp2(exponent * log2_theta);
    const auto within = static_cast<float>(angle - kTurn * rint(angle / kTurn));
    cosines[i] = cosf(within), sines[i] = direction * sinf(within);
  }
}

template <int V, class T>
__global__ void __launch_bounds__(kBlock)
    rotate_kernel(T* qkv, RopeShape shape, double log2_theta, float direction) {
  __shared__ float cosines[kMostPairs], sines[kMostPairs];
  const std::int64_t half = shape.head_dim / 2, vectors = half / V;
  for (std::int64_t s = blockIdx.x; s < shape.sequence; s += gridDim.x) {
    __syncthreads();  // the table of the position before has been read
    tabulate(cosines, sines, shape.place(s), shape.head_dim, log2_theta, direction);
    __syncthreads();
    for (std::int64_t b = blockIdx.y; b < shape.batch; b += gridDim.y) {
      T* row = qkv + (s * shape.batch + b) * shape.row_width + shape.skipped;
      for (std::int64_t n = threadIdx.x; n < shape.heads * vectors; n += blockDim.x) {
        const std::int64_t pair = n % vectors * V;
        T* at = row + n / vectors * (shape.skipped + shape.head_dim) + pair;
        Floats<V> x = load<V>(at), y = load<V>(at + half);
#pragma unroll
        for (int i = 0; i < V; ++i) {
          const float c = cosines[pair + i], d = sines[pair + i],
                      rotated = x.at[i] * c - y.at[i] * d;
          y.at[i] = y.at[i] * c + x.at[i] * d;
          x.at[i] = rotated;
        }
        store(at, x), store(at + half, y);
      }
    }
  }
}

template <class T>
void rotate(const Queue& q, T* qkv, const RopeShape& shape, float direction) {
  constexpr int kWide = kVector<T>;
  const std::int64_t half = shape.head_dim / 2;
  PLAIT_CHECK(half <= kMostPairs, "heads of rotary embeddings have at most 1024 elements");
  const bool vectorised = aligned({qkv}) && half % kWide == 0 && shape.row_width % kWide == 0 &&
                          shape.skipped % kWide == 0;
  auto* kernel = vectorised ? rotate_kernel<kWide, T> : rotate_kernel<1, T>;
  const unsigned along = blocks_for(q, shape.sequence);
  if (along == 0) return;
  const dim3 grid(along, std::max<unsigned>(blocks_for(q, along * shape.batch) / along, 1));
  launch(kernel, grid, kBlock, 0, q.stream, qkv, shape, std::log2(shape.theta), direction);
}

}  // namespace

template <class T>
void rope_forward(const Queue& q, T* qkv, const RopeShape& shape) {
  rotate(q, qkv, shape, 1);
}
template <class T>
void rope_backward(const Queue& q, T* dqkv, const RopeShape& shape) {
  rotate(q, dqkv, shape, -1);
}

#define PLAIT_INSTANTIATE(T)                                      \
  template void rope_forward(const Queue&, T*, const RopeShape&); \
  template void rope_backward(const Queue&, T*, const RopeShape&);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
