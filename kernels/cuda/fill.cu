#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/fill.h"
#include "kernels/cuda/instantiate.h"

namespace plait::kernels::cuda {
namespace {

template <class T>
struct Fill {
  T* out;
  float value;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> x;
#pragma unroll
    for (int i = 0; i < V; ++i) x.at[i] = value;
    store(out + at, x);
  }
};

}  // namespace

template <class T>
void fill(const Queue& q, T* out, T value, std::int64_t elements) {
  for_each_element<kVector<T>>(q, aligned({out}), elements, Fill<T>{out, to_float(value)});
}

#define PLAIT_INSTANTIATE(T) template void fill(const Queue&, T*, T, std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
