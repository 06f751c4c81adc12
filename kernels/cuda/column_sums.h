#pragma once
// The second half of column sums: blocks leave partial sums in the scratch memory, and a second
// kernel adds them up, always in the same order. Used inside kernels only.

#include "kernels/cuda/elementwise.h"

namespace plait::kernels::cuda {

inline constexpr unsigned kSumColumns = 32, kSumLines = 16;

/// out[width] (+)= sum over lines of partials[lines, width]: a block adds up 32 columns, each of
/// its rows every sixteenth line.
template <class G>
__global__ void __launch_bounds__(kSumColumns* kSumLines)
    sum_partials_kernel(G* out, const float* partials, std::int64_t lines, std::int64_t width,
                        bool accumulate) {
  __shared__ float of_rows[kSumLines][kSumColumns];
  const std::int64_t column = std::int64_t{blockIdx.x} * kSumColumns + threadIdx.x;
  float sum = 0;
  if (column < width) {
#pragma unroll 4
    for (std::int64_t line = threadIdx.y; line < lines; line += kSumLines) {
      sum += partials[line * width + column];
    }
  }
  of_rows[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y > 0 || column >= width) return;
  for (unsigned row = 1; row < kSumLines; ++row) sum += of_rows[row][threadIdx.x];
  if (accumulate) sum += to_float(out[column]);
  out[column] = from_float<G>(sum);
}

template <class G>
void sum_partials(const Queue& q, G* out, const float* partials, std::int64_t lines,
                  std::int64_t width, bool accumulate) {
  launch(sum_partials_kernel<G>, static_cast<unsigned>(ceil_div(width, kSumColumns)),
         dim3(kSumColumns, kSumLines), 0, q.stream, out, partials, lines, width, accumulate);
}

/// Lines of float[width] that the scratch memory holds `copies` times, at most `wanted`, at
/// least 1.
inline std::int64_t lines_of_scratch(const Queue& q, std::int64_t width, std::int64_t copies,
                                     std::int64_t wanted) {
  const auto floats = static_cast<std::int64_t>(q.kernel_scratch_bytes / sizeof(float));
  return std::clamp<std::int64_t>(floats / std::max<std::int64_t>(width * copies, 1), 1,
                                  std::max<std::int64_t>(wanted, 1));
}

}  // namespace plait::kernels::cuda
