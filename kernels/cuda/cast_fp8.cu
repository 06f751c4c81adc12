// Scaling from the numbers at hand: one pass finds the largest magnitude, another writes.

#include <limits>

#include "kernels/cuda/cast.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"

namespace plait::kernels::cuda {
namespace {

/// The largest number of a format (Micikevicius et al. 2022, table 1).
template <class F>
inline constexpr float kLargest = 448;
template <>
inline constexpr float kLargest<__nv_fp8_e5m2> = 57344;

template <int V, class T>
__device__ float largest_of(const T* x, float start) {
  const Floats<V> v = load<V>(x);
#pragma unroll
  for (int i = 0; i < V; ++i) start = fmaxf(start, fabsf(v.at[i]));
  return start;
}

template <int V, class T>
__global__ void __launch_bounds__(kBlock)
    largest_kernel(float* partials, const T* x, std::int64_t elements) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t vectors = elements / V;
  float largest = 0;
#pragma unroll 2
  for (std::int64_t i = first; i < vectors; i += stride)
    largest = largest_of<V>(x + i * V, largest);
  for (std::int64_t i = vectors * V + first; i < elements; i += stride) {
    largest = largest_of<1>(x + i, largest);
  }
  largest = reduce_block(largest, 0.0F, Larger{});
  if (threadIdx.x == 0) partials[blockIdx.x] = largest;
}

__global__ void __launch_bounds__(kBlock) scale_kernel(float* inverse_scale, const float* partials,
                                                       unsigned count, float largest_number) {
  float largest = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) largest = fmaxf(largest, partials[i]);
  largest = reduce_block(largest, 0.0F, Larger{});
  if (threadIdx.x != 0) return;
  const float inverse = largest / largest_number;
  *inverse_scale = inverse >= std::numeric_limits<float>::min() ? inverse : 1.0F;  // else 1 / 0
}

template <class F, class T>
struct Narrow {
  F* out;
  const T* in;
  const float* inverse_scale;
  template <int V>
  __device__ void run(std::int64_t at) const {
    const float scale = 1.0F / *inverse_scale;
    const Floats<V> x = load<V>(in + at);
    struct alignas(V) Raw {
      F at[V];
    } raw;
#pragma unroll
    for (int i = 0; i < V; ++i) raw.at[i] = F(x.at[i] * scale);  // saturates
    *reinterpret_cast<Raw*>(out + at) = raw;
  }
};

constexpr unsigned kTileSide = 32, kTileLines = 8;

/// out[columns, rows] = in^T, tile by tile through shared memory: both sides go along rows.
template <class F>
__global__ void __launch_bounds__(kTileSide* kTileLines)
    transpose_kernel(F* out, const F* in, std::int64_t rows, std::int64_t columns) {
  __shared__ F tile[kTileSide][kTileSide + 4];  // another bank for each row
  const std::int64_t across = ceil_div(columns, kTileSide);
  const std::int64_t tiles = across * ceil_div(rows, kTileSide);
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const std::int64_t row0 = t / across * kTileSide, column0 = t % across * kTileSide;
    for (unsigned i = threadIdx.y; i < kTileSide; i += kTileLines) {
      const std::int64_t row = row0 + i, column = column0 + threadIdx.x;
      if (row < rows && column < columns) tile[i][threadIdx.x] = in[row * columns + column];
    }
    __syncthreads();
    for (unsigned i = threadIdx.y; i < kTileSide; i += kTileLines) {
      const std::int64_t row = row0 + threadIdx.x, column = column0 + i;
      if (row < rows && column < columns) out[column * rows + row] = tile[threadIdx.x][i];
    }
    __syncthreads();  // before the tile is written again
  }
}

}  // namespace

template <class F>
void transpose(const Queue& q, F* out, const F* in, std::int64_t rows, std::int64_t columns) {
  const std::int64_t tiles = ceil_div(columns, kTileSide) * ceil_div(rows, kTileSide);
  launch(transpose_kernel<F>, blocks_for(q, tiles), dim3(kTileSide, kTileLines), 0, q.stream, out,
         in, rows, columns);
}

template <class F, class T>
void cast_fp8(const Queue& q, F* out, F* out_transposed, float* inverse_scale, const T* in,
              std::int64_t rows, std::int64_t columns) {
  constexpr int kWide = kVector<T>;
  const std::int64_t elements = rows * columns;
  auto* partials = static_cast<float*>(q.scratch);
  const unsigned grid = blocks_for(q, ceil_div(elements, std::int64_t{kBlock} * kWide));
  auto* kernel = aligned({in}) ? largest_kernel<kWide, T> : largest_kernel<1, T>;
  launch(kernel, grid, kBlock, 0, q.stream, partials, in, elements);
  launch(scale_kernel, 1, kBlock, 0, q.stream, inverse_scale, partials, grid, kLargest<F>);
  for_each_element<kWide>(q, aligned({out, in}), elements, Narrow<F, T>{out, in, inverse_scale});
  if (out_transposed != nullptr) transpose(q, out_transposed, out, rows, columns);
}

#define PLAIT_INSTANTIATE(T)                                                             \
  template void cast_fp8(const Queue&, __nv_fp8_e4m3*, __nv_fp8_e4m3*, float*, const T*, \
                         std::int64_t, std::int64_t);                                    \
  template void cast_fp8(const Queue&, __nv_fp8_e5m2*, __nv_fp8_e5m2*, float*, const T*, \
                         std::int64_t, std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE
template void transpose(const Queue&, __nv_fp8_e4m3*, const __nv_fp8_e4m3*, std::int64_t,
                        std::int64_t);
template void transpose(const Queue&, __nv_fp8_e5m2*, const __nv_fp8_e5m2*, std::int64_t,
                        std::int64_t);

}  // namespace plait::kernels::cuda
