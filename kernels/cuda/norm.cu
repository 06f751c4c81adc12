// The formulas are those of kernels/norm.cpp. Backward: each block adds up its rows' parts of
// dgamma and dbeta, in registers as far as vectors are held and in its lines of the scratch memory
// beyond, and a second kernel adds up the blocks.

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/norm.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/row_part.h"

namespace plait::kernels::cuda {
namespace {

/// Where the rows that are normalised begin, and their statistics: one behind the other, or heads
/// side by side in longer rows.
struct Places {
  std::int64_t rows, width;
  std::int64_t heads, row_width, stats_width;  // of a longer row
  Places(std::int64_t n, std::int64_t w) : rows(n), width(w), heads(1), row_width(w) {
    stats_width = 1;
  }
  explicit Places(const NormedHeads& h)
      : rows(h.rows * h.heads),
        width(h.width),
        heads(h.heads),
        row_width(h.row_width),
        stats_width(h.stats_width) {}
  bool whole_vectors(int n) const { return width % n == 0 && row_width % n == 0; }
  __device__ std::int64_t row(std::int64_t r) const {
    return r / heads * row_width + r % heads * width;
  }
  __device__ std::int64_t statistic(std::int64_t r) const {
    return r / heads * stats_width + r % heads;
  }
};

template <bool centred, int V, class T>
__global__ void __launch_bounds__(kMostThreads)
    forward_kernel(T* y, float* stats, const T* x, const T* gamma, const T* beta, Places places,
                   float epsilon) {
  const std::int64_t width = places.width;
  for (std::int64_t r = blockIdx.x; r < places.rows; r += gridDim.x) {
    const std::int64_t at = places.row(r), statistic = places.statistic(r);
    const MyPart<V, T> part(x + at, width);
    float mean = 0, sum = 0;
    if constexpr (centred) {
      const auto add = [&](int, std::int64_t, const Floats<V>& v) {
#pragma unroll
        for (int i = 0; i < V; ++i) sum += v.at[i];
      };
      for_my_columns(width, add, part);
      mean = sum_block(sum) / static_cast<float>(width);
      sum = 0;
    }
    const auto add_square = [&](int, std::int64_t, const Floats<V>& v) {
#pragma unroll
      for (int i = 0; i < V; ++i) sum += (v.at[i] - mean) * (v.at[i] - mean);
    };
    for_my_columns(width, add_square, part);
    const float rstd = 1.0F / sqrtf(sum_block(sum) / static_cast<float>(width) + epsilon);
    const auto write = [&](int, std::int64_t column, Floats<V> v) {
      const Floats<V> g = load<V>(gamma + column);
      Floats<V> b{};
      if constexpr (centred) b = load<V>(beta + column);
#pragma unroll
      for (int i = 0; i < V; ++i) v.at[i] = (v.at[i] - mean) * rstd * g.at[i] + b.at[i];
      store(y + at + column, v);
    };
    for_my_columns(width, write, part);
    if (threadIdx.x == 0) {
      if constexpr (centred) {
        stats[2 * statistic] = mean, stats[2 * statistic + 1] = rstd;
      } else {
        stats[statistic] = rstd;
      }
    }
  }
}

/// Partial sums of one parameter's gradient: in registers, and in this block's line beyond.
template <int V>
class ColumnSums {
 public:
  __device__ ColumnSums(float* line, std::int64_t width) : line_(line), width_(width) {
    for (int j = kHeld; my_column<V>(j) < width; ++j) store(line + my_column<V>(j), Floats<V>{});
  }
  __device__ void add(int j, std::int64_t at, const Floats<V>& x) {
    if (j < kHeld) {
#pragma unroll
      for (int held = 0; held < kHeld; ++held) {  // constant indices keep sums_ in registers
        if (held != j) continue;
#pragma unroll
        for (int i = 0; i < V; ++i) sums_[held].at[i] += x.at[i];
      }
      return;
    }
    Floats<V> sum = load<V>(line_ + at);
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    store(line_ + at, sum);
  }
  __device__ void finish() {
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      if (my_column<V>(j) < width_) store(line_ + my_column<V>(j), sums_[j]);
    }
  }

 private:
  float* line_;
  std::int64_t width_;
  Floats<V> sums_[kHeld] = {};
};

template <class T>
struct Backward {
  T* dx;
  float *dgamma, *dbeta;  // [blocks, width] each, or null
  const T *dy, *x;
  const float* stats;
  const T* gamma;
  Places places;
};

template <bool centred, int V, class T>
__device__ void input_gradient(const Backward<T>& b, std::int64_t at, const MyPart<V, T>& dy,
                               const MyPart<V, T>& x, float mean, float rstd) {
  float along = 0, constant = 0;
  const auto add = [&](int, std::int64_t column, const Floats<V>& d, const Floats<V>& v) {
    const Floats<V> g = load<V>(b.gamma + column);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      along += d.at[i] * g.at[i] * ((v.at[i] - mean) * rstd);
      constant += d.at[i] * g.at[i];
    }
  };
  const std::int64_t width = b.places.width;
  for_my_columns(width, add, dy, x);
  along = sum_block(along) / static_cast<float>(width);
  constant = centred ? sum_block(constant) / static_cast<float>(width) : 0.0F;
  const auto write = [&](int, std::int64_t column, const Floats<V>& d, Floats<V> v) {
    const Floats<V> g = load<V>(b.gamma + column);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      v.at[i] = rstd * (d.at[i] * g.at[i] - constant - (v.at[i] - mean) * rstd * along);
    }
    store(b.dx + at + column, v);
  };
  for_my_columns(width, write, dy, x);
}

/// Parameters before dx, which may be written over dy.
template <bool centred, int V, class T>
__global__ void __launch_bounds__(kMostThreads) backward_kernel(Backward<T> b) {
  const bool parameters = b.dgamma != nullptr;
  const std::int64_t width = b.places.width;
  const std::int64_t line = parameters ? std::int64_t{blockIdx.x} * width : 0;
  ColumnSums<V> dgamma(b.dgamma + line, parameters ? width : 0);
  ColumnSums<V> dbeta(centred ? b.dbeta + line : nullptr, parameters && centred ? width : 0);
  for (std::int64_t r = blockIdx.x; r < b.places.rows; r += gridDim.x) {
    const std::int64_t at = b.places.row(r), statistic = b.places.statistic(r);
    const float mean = centred ? b.stats[2 * statistic] : 0.0F;
    const float rstd = centred ? b.stats[2 * statistic + 1] : b.stats[statistic];
    const MyPart<V, T> dy(b.dy + at, width), x(b.x + at, width);
    const auto add = [&](int j, std::int64_t column, Floats<V> d, const Floats<V>& v) {
      if constexpr (centred) dbeta.add(j, column, d);
#pragma unroll
      for (int i = 0; i < V; ++i) d.at[i] *= (v.at[i] - mean) * rstd;
      dgamma.add(j, column, d);
    };
    if (parameters) for_my_columns(width, add, dy, x);
    if (b.dx != nullptr) input_gradient<centred>(b, at, dy, x, mean, rstd);
  }
  dgamma.finish();
  dbeta.finish();
}

template <bool centred, class T>
void forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma, const T* beta,
             const Places& places, double epsilon) {
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({y, x, gamma, beta}) && places.whole_vectors(kWide);
  const unsigned threads = threads_for_row(vectorised ? places.width / kWide : places.width);
  auto* kernel = vectorised ? forward_kernel<centred, kWide, T> : forward_kernel<centred, 1, T>;
  launch(kernel, row_blocks(q, threads, places.rows), threads, 0, q.stream, y, stats, x, gamma,
         beta, places, static_cast<float>(epsilon));
}

template <bool centred, class T, class G>
void backward(const Queue& q, T* dx, G* dgamma, G* dbeta, const T* dy, const T* x,
              const float* stats, const T* gamma, const Places& places, bool accumulate) {
  constexpr int kWide = kVector<T>, kCopies = centred ? 2 : 1;
  const std::int64_t width = places.width;
  const bool vectorised = aligned({dx, dy, x, gamma}) && places.whole_vectors(kWide);
  const unsigned threads = threads_for_row(vectorised ? width / kWide : width);
  // Half of the device's threads: sums take registers.
  const unsigned wanted = std::max((row_blocks(q, threads, places.rows) + 1) / 2, 1U);
  const std::int64_t blocks = lines_of_scratch(q, width, kCopies, wanted);
  auto* sums = dgamma == nullptr ? nullptr : static_cast<float*>(q.scratch);
  auto* beta_sums = sums == nullptr || !centred ? nullptr : sums + blocks * width;
  auto* kernel = vectorised ? backward_kernel<centred, kWide, T> : backward_kernel<centred, 1, T>;
  launch(kernel, static_cast<unsigned>(blocks), threads, 0, q.stream,
         Backward<T>{dx, sums, beta_sums, dy, x, stats, gamma, places});
  if (dgamma != nullptr) sum_partials(q, dgamma, sums, blocks, width, accumulate);
  if (dbeta != nullptr) sum_partials(q, dbeta, beta_sums, blocks, width, accumulate);
}

}  // namespace

template <class T>
void layer_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                        const T* beta, std::int64_t rows, std::int64_t width, double epsilon) {
  forward<true>(q, y, stats, x, gamma, beta, Places(rows, width), epsilon);
}
template <class T>
void rms_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                      std::int64_t rows, std::int64_t width, double epsilon) {
  forward<false, T>(q, y, stats, x, gamma, nullptr, Places(rows, width), epsilon);
}
template <class T, class G>
void layer_norm_backward(const Queue& q, T* dx, G* dgamma, G* dbeta, const T* dy, const T* x,
                         const float* stats, const T* gamma, std::int64_t rows, std::int64_t width,
                         bool accumulate) {
  backward<true>(q, dx, dgamma, dbeta, dy, x, stats, gamma, Places(rows, width), accumulate);
}
template <class T, class G>
void rms_norm_backward(const Queue& q, T* dx, G* dgamma, const T* dy, const T* x,
                       const float* stats, const T* gamma, std::int64_t rows, std::int64_t width,
                       bool accumulate) {
  backward<false, T, G>(q, dx, dgamma, nullptr, dy, x, stats, gamma, Places(rows, width),
                        accumulate);
}

template <class T>
void head_norm_forward(const Queue& q, T* y, float* stats, const T* x, const T* gamma,
                       const NormedHeads& heads, double epsilon) {
  forward<false, T>(q, y, stats, x, gamma, nullptr, Places(heads), epsilon);
}
template <class T, class G>
void head_norm_backward(const Queue& q, T* dx, G* dgamma, const T* dy, const T* x,
                        const float* stats, const T* gamma, const NormedHeads& heads,
                        bool accumulate) {
  backward<false, T, G>(q, dx, dgamma, nullptr, dy, x, stats, gamma, Places(heads), accumulate);
}

#define PLAIT_INSTANTIATE(T)                                                                 \
  template void layer_norm_forward(const Queue&, T*, float*, const T*, const T*, const T*,   \
                                   std::int64_t, std::int64_t, double);                      \
  template void rms_norm_forward(const Queue&, T*, float*, const T*, const T*, std::int64_t, \
                                 std::int64_t, double);                                      \
  template void head_norm_forward(const Queue&, T*, float*, const T*, const T*,              \
                                  const NormedHeads&, double);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE
#define PLAIT_INSTANTIATE(T, G)                                                                 \
  template void layer_norm_backward(const Queue&, T*, G*, G*, const T*, const T*, const float*, \
                                    const T*, std::int64_t, std::int64_t, bool);                \
  template void rms_norm_backward(const Queue&, T*, G*, const T*, const T*, const float*,       \
                                  const T*, std::int64_t, std::int64_t, bool);                  \
  template void head_norm_backward(const Queue&, T*, G*, const T*, const T*, const float*,      \
                                   const T*, const NormedHeads&, bool);
PLAIT_FOR_GRADIENTS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
