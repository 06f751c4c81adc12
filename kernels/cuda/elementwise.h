#pragma once
// Grids for kernels that go through memory once. A body is a struct with
//   template <int V> __device__ void run(std::int64_t at)                      elements at .. at +
//   V template <int V> __device__ void run(std::int64_t row, std::int64_t column)
// Grids are as large as the device holds and each thread goes on until the end, so sizes are only
// limited by 64-bit indices. Used inside kernels only.

#include <algorithm>

#include "kernels/cuda/queue.h"
#include "kernels/cuda/vector.h"

namespace plait::kernels::cuda {

inline constexpr int kBlock = 256;
/// Blocks of 256 threads that fill a multiprocessor: 2048 threads on sm_80, sm_90 and sm_100.
inline constexpr int kBlocksPerMultiprocessor = 8;

/// Enough blocks for `wanted`, at most what the device holds at a time.
inline unsigned blocks_for(const Queue& q, std::int64_t wanted) {
  const std::int64_t most = std::int64_t{q.multiprocessors} * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(std::min(wanted, most));
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <int V, class Body>
__global__ void __launch_bounds__(kBlock) elements_kernel(Body body, std::int64_t elements) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t vectors = elements / V;
  for (std::int64_t i = first; i < vectors; i += stride) body.template run<V>(i * V);
  for (std::int64_t i = vectors * V + first; i < elements; i += stride) body.template run<1>(i);
}

/// body(at) for all elements, V at a time if they are `vectorised`.
template <int V, class Body>
void for_each_element(const Queue& q, bool vectorised, std::int64_t elements, const Body& body) {
  const int width = vectorised ? V : 1;
  const unsigned grid = blocks_for(q, ceil_div(elements, std::int64_t{kBlock} * width));
  auto* kernel = vectorised ? elements_kernel<V, Body> : elements_kernel<1, Body>;
  launch(kernel, grid, kBlock, 0, q.stream, body, elements);
}

template <int V, class Body>
__global__ void __launch_bounds__(kBlock)
    rows_kernel(Body body, std::int64_t rows, std::int64_t width) {
  const std::int64_t first = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * V;
  const std::int64_t column_stride = std::int64_t{gridDim.x} * blockDim.x * V;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::int64_t row_stride = std::int64_t{gridDim.y} * blockDim.y;
  for (std::int64_t row = first_row; row < rows; row += row_stride) {
    for (std::int64_t column = first; column < width; column += column_stride) {
      body.template run<V>(row, column);
    }
  }
}

/// Threads of a block along a row of so many vectors: a power of two from a warp up.
inline unsigned threads_along(std::int64_t vectors) {
  unsigned threads = 32;
  while (threads < kBlock && threads < vectors) threads *= 2;
  return threads;
}

/// The largest y of a grid (CUDA programming guide, compute capabilities).
inline constexpr std::int64_t kMostGridRows = 65535;

/// body(row, column) for all elements, V columns at a time if they are `vectorised` and rows are
/// whole vectors.
template <int V, class Body>
void for_each_in_rows(const Queue& q, bool vectorised, std::int64_t rows, std::int64_t width,
                      const Body& body) {
  vectorised = vectorised && width % V == 0;
  const std::int64_t vectors = vectorised ? width / V : width;
  const unsigned along = threads_along(vectors), down = kBlock / along;
  const unsigned columns = blocks_for(q, ceil_div(vectors, along));
  const std::int64_t most =
      std::max<std::int64_t>(blocks_for(q, kMostGridRows) / std::max(columns, 1U), 1);
  const auto lines = static_cast<unsigned>(std::min(ceil_div(rows, down), most));
  auto* kernel = vectorised ? rows_kernel<V, Body> : rows_kernel<1, Body>;
  launch(kernel, dim3(columns, lines), dim3(along, down), 0, q.stream, body, rows, width);
}

}  // namespace plait::kernels::cuda
