#pragma once
// The second half of column sums: blocks leave partial sums in the scratch memory, and one thread
// per column adds them up in order. Used inside kernels only.

#include "kernels/cuda/elementwise.h"

namespace plait::kernels::cuda {

template <class G>
struct SumOfPartials {
  G* out;
  const float* partials;  // [lines, width]
  std::int64_t lines, width;
  bool accumulate;
  template <int V>
  __device__ void run(std::int64_t at) const {
    Floats<V> sum{};
#pragma unroll 4
    for (std::int64_t line = 0; line < lines; ++line) {
      const Floats<V> x = load<V>(partials + line * width + at);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    if (accumulate) {
      const Floats<V> x = load<V>(out + at);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    store(out + at, sum);
  }
};

/// out[width] = (accumulate: +=) sum over lines of partials[lines, width].
template <class G>
void sum_partials(const Queue& q, G* out, const float* partials, std::int64_t lines,
                  std::int64_t width, bool accumulate) {
  // One column a thread: there are few columns and many lines.
  for_each_element<1>(q, false, width, SumOfPartials<G>{out, partials, lines, width, accumulate});
}

/// Lines of float[width] that the scratch memory holds `copies` times, at most `wanted`, at
/// least 1.
inline std::int64_t lines_of_scratch(std::int64_t width, std::int64_t copies, std::int64_t wanted) {
  const auto floats = static_cast<std::int64_t>(kKernelScratchBytes / sizeof(float));
  return std::clamp<std::int64_t>(floats / std::max<std::int64_t>(width * copies, 1), 1,
                                  std::max<std::int64_t>(wanted, 1));
}

}  // namespace plait::kernels::cuda
