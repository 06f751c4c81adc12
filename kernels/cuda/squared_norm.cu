#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/squared_norm.h"

namespace plait::kernels::cuda {
namespace {

template <int V, class T>
__device__ double squares(const T* x) {
  const Floats<V> v = load<V>(x);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) sum += v.at[i] * v.at[i];
  return static_cast<double>(sum);
}

/// partials[block] = sum of the squares that its threads come across.
template <int V, class T>
__global__ void __launch_bounds__(kBlock)
    squares_kernel(double* partials, const T* x, std::int64_t elements) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t vectors = elements / V;
  double sum = 0;
#pragma unroll 2
  for (std::int64_t i = first; i < vectors; i += stride) sum += squares<V>(x + i * V);
  for (std::int64_t i = vectors * V + first; i < elements; i += stride) sum += squares<1>(x + i);
  sum = sum_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kBlock)
    add_up_kernel(float* out, const double* partials, unsigned count, bool accumulate) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += partials[i];
  sum = sum_block(sum);
  if (threadIdx.x == 0) {
    *out = static_cast<float>(accumulate ? static_cast<double>(*out) + sum : sum);
  }
}

}  // namespace

template <class T>
void squared_norm(const Queue& q, float* out, const T* x, std::int64_t elements, bool accumulate) {
  constexpr int kWide = kVector<T>;
  auto* partials = static_cast<double*>(q.scratch);
  const unsigned grid = blocks_for(q, ceil_div(elements, std::int64_t{kBlock} * kWide));
  auto* kernel = aligned({x}) ? squares_kernel<kWide, T> : squares_kernel<1, T>;
  launch(kernel, grid, kBlock, 0, q.stream, partials, x, elements);
  launch(add_up_kernel, 1, kBlock, 0, q.stream, out, partials, grid, accumulate);
}

#define PLAIT_INSTANTIATE(T) \
  template void squared_norm(const Queue&, float*, const T*, std::int64_t, bool);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
