#pragma once
// Kernels that take a row at a time per block and go over it several times. A thread's first kHeld
// vectors of the row stay in registers; further ones, in rows longer than kHeld vectors for each of
// 512 threads, are read again. Used inside kernels only.

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/reduce.h"

namespace plait::kernels::cuda {

inline constexpr int kHeld = 2;
inline constexpr unsigned kMostThreads = 512;  // 128 registers each
inline constexpr unsigned kThreadsOfMultiprocessor = 2048;

template <int V>
__device__ std::int64_t my_column(std::int64_t j) {
  return (j * blockDim.x + threadIdx.x) * V;
}

/// What this thread has of a row: vectors threadIdx.x, threadIdx.x + blockDim.x, ...
template <int V, class T>
struct MyPart {
  const T* row;
  Floats<V> held[kHeld];
  __device__ MyPart(const T* from, std::int64_t width) : row(from) {
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      if (my_column<V>(j) < width) held[j] = load<V>(row + my_column<V>(j));
    }
  }
};
/// f(j, column, V elements of each of the rows).
template <int V, class F, class... T>
__device__ void for_my_columns(std::int64_t width, F&& f, const MyPart<V, T>&... parts) {
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    const std::int64_t column = my_column<V>(j);
    if (column < width) f(j, column, parts.held[j]...);
  }
  int j = kHeld;
  for (std::int64_t column = my_column<V>(j); column < width; column = my_column<V>(++j)) {
    f(j, column, load<V>(parts.row + column)...);
  }
}

/// Threads of a block, so that each holds the vectors that it has of a row.
inline unsigned threads_for_row(std::int64_t vectors) {
  unsigned threads = kWarp;
  while (threads < kMostThreads && std::int64_t{threads} * kHeld < vectors) threads *= 2;
  return threads;
}
/// Blocks of so many threads that the device holds at a time, at most one per row.
inline unsigned row_blocks(const Queue& q, unsigned threads, std::int64_t rows) {
  const std::int64_t most =
      std::int64_t{q.multiprocessors} * std::min(kThreadsOfMultiprocessor / threads, 32U);
  return static_cast<unsigned>(std::min(rows, most));
}

}  // namespace plait::kernels::cuda
