#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/column_sums.h"

namespace plait::kernels::cuda {
namespace {

/// partials[line, column] = sum of rows line, line + lines, ...
template <int V, class T>
__global__ void __launch_bounds__(kBlock)
    sum_rows_kernel(float* partials, const T* dy, std::int64_t rows, std::int64_t width) {
  const std::int64_t lines = std::int64_t{gridDim.y} * blockDim.y;
  const std::int64_t line = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x * V;
  for (std::int64_t column = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * V;
       column < width; column += stride) {
    Floats<V> sum{};
#pragma unroll 4
    for (std::int64_t row = line; row < rows; row += lines) {
      const Floats<V> x = load<V>(dy + row * width + column);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    store(partials + line * width + column, sum);
  }
}

}  // namespace

template <class G, class T>
void bias_grad(const Queue& q, G* dbias, const T* dy, std::int64_t rows, std::int64_t width,
               bool accumulate) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({dy}) && width % kWide == 0;
  const std::int64_t vectors = vectorised ? width / kWide : width;
  const unsigned along = threads_along(vectors), down = kBlock / along;
  const unsigned columns = blocks_for(q, ceil_div(vectors, along));
  // Half of the device's threads: each has four rows under way, and fewer lines are left to add.
  const std::int64_t most = std::max<std::int64_t>(blocks_for(q, kMostGridRows) / (2 * columns), 1);
  const std::int64_t lines = lines_of_scratch(q, width, down, std::min(ceil_div(rows, down), most));
  auto* partials = static_cast<float*>(q.scratch);
  auto* kernel = vectorised ? sum_rows_kernel<kWide, T> : sum_rows_kernel<1, T>;
  launch(kernel, dim3(columns, static_cast<unsigned>(lines)), dim3(along, down), 0, q.stream,
         partials, dy, rows, width);
  sum_partials(q, dbias, partials, lines * down, width, accumulate);
}

#define PLAIT_INSTANTIATE(G, T) \
  template void bias_grad(const Queue&, G*, const T*, std::int64_t, std::int64_t, bool);
PLAIT_INSTANTIATE(float, float)
PLAIT_INSTANTIATE(float, __nv_bfloat16)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_bfloat16)
PLAIT_INSTANTIATE(float, __half)
PLAIT_INSTANTIATE(__half, __half)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
