// Backward, without atomic additions of floats: the rows of a token are added up by the block of
// the token's first row. `Span` says for each token of the table where its first and its last row
// is; between them that block looks for further ones. A token that comes once costs no search.
// Positions that share a row are neighbours, so their rows are summed as those of a bias.

#include <limits>

#include "core/error.h"
#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/embedding.h"
#include "kernels/cuda/fill.h"
#include "kernels/cuda/instantiate.h"
#include "kernels/cuda/reduce.h"
#include "kernels/vocab_shard.h"

namespace plait::kernels::cuda {
namespace {

template <class T>
struct Lookup {
  T* out;
  const std::int64_t* tokens;
  const T* table;
  std::int64_t width, vocab, vocab_offset;
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    const LocalToken<float> local(tokens[row], vocab, vocab_offset);
    Floats<V> x = load<V>(table + local.place * width + column);
#pragma unroll
    for (int i = 0; i < V; ++i) x.at[i] *= local.factor;
    store(out + row * width + column, x);
  }
};

struct Span {
  int first, last;
};
struct ClearSpans {
  Span* spans;
  template <int V>
  __device__ void run(std::int64_t at) const {
    spans[at] = {std::numeric_limits<int>::max(), -1};
  }
};
struct FindSpans {
  Span* spans;
  const std::int64_t* tokens;
  std::int64_t vocab, vocab_offset;
  template <int V>
  __device__ void run(std::int64_t row) const {
    const std::int64_t token = tokens[row] - vocab_offset;
    if (token < 0 || token >= vocab) return;
    atomicMin(&spans[token].first, static_cast<int>(row));
    atomicMax(&spans[token].last, static_cast<int>(row));
  }
};

/// Adds dout of the rows that hold the block's token, from `first` to `last`, to `sum`. Warps look
/// for them 32 rows at a time.
template <int V, class T>
__device__ void add_rows(Floats<V>& sum, const std::int64_t* tokens, std::int64_t token, Span span,
                         const T* dout, std::int64_t width, std::int64_t column) {
  const unsigned lane = threadIdx.x % kWarp;
  for (std::int64_t base = span.first; base <= span.last; base += kWarp) {
    const std::int64_t mine = base + lane;
    unsigned found = __ballot_sync(kAllLanes, mine <= span.last && tokens[mine] == token);
    while (found != 0) {
      const std::int64_t row = base + __ffs(static_cast<int>(found)) - 1;
      found &= found - 1;
      if (column >= width) continue;
      const Floats<V> x = load<V>(dout + row * width + column);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
  }
}

template <int V, class G, class T>
__global__ void __launch_bounds__(kBlock)
    backward_kernel(G* dtable, const Span* spans, const std::int64_t* tokens, const T* dout,
                    std::int64_t rows, std::int64_t width, std::int64_t vocab,
                    std::int64_t vocab_offset) {
  const std::int64_t column = (std::int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * V;
  for (std::int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const std::int64_t token = tokens[r], place = token - vocab_offset;
    if (place < 0 || place >= vocab || spans[place].first != r) continue;
    Floats<V> sum{};
    add_rows<V>(sum, tokens, token, spans[place], dout, width, column);
    if (column >= width) continue;
    G* out = dtable + place * width + column;
    const Floats<V> before = load<V>(out);
#pragma unroll
    for (int i = 0; i < V; ++i) sum.at[i] += before.at[i];
    store(out, sum);
  }
}

template <class T>
struct AddPositions {
  T* out;
  const T *in, *table;
  std::int64_t batch, width;
  Positions place;
  std::int64_t sharing;  // positions of a row of the table
  template <int V>
  __device__ void run(std::int64_t row, std::int64_t column) const {
    Floats<V> x = load<V>(in + row * width + column);
    const Floats<V> p = load<V>(table + place(row / batch) / sharing * width + column);
#pragma unroll
    for (int i = 0; i < V; ++i) x.at[i] += p.at[i];
    store(out + row * width + column, x);
  }
};

template <class G, class T>
struct PositionsGradient {
  G* dtable;
  const T* dout;
  std::int64_t batch, width;
  Positions place;
  template <int V>
  __device__ void run(std::int64_t s, std::int64_t column) const {
    G* out = dtable + place(s) * width + column;
    Floats<V> sum = load<V>(out);
    for (std::int64_t b = 0; b < batch; ++b) {
      const Floats<V> x = load<V>(dout + (s * batch + b) * width + column);
#pragma unroll
      for (int i = 0; i < V; ++i) sum.at[i] += x.at[i];
    }
    store(out, sum);
  }
};

struct RowShape {
  std::int64_t sequence, batch, width;
};

/// Neighbouring positions of one row of the table at a time.
template <class G, class T>
void shared_rows(const Queue& q, G* dtable, const T* dout, const RowShape& shape,
                 const Positions& place, std::int64_t run) {
  for (std::int64_t first = 0, end = 0; first < shape.sequence; first = end) {
    const std::int64_t row = place(first) / run;
    for (end = first + 1; end < shape.sequence && place(end) / run == row;) ++end;
    bias_grad(q, dtable + row * shape.width, dout + first * shape.batch * shape.width,
              (end - first) * shape.batch, shape.width, true);
  }
}

}  // namespace

template <class T>
void embedding_forward(const Queue& q, T* out, const std::int64_t* tokens, const T* table,
                       std::int64_t rows, std::int64_t width, std::int64_t vocab,
                       std::int64_t vocab_offset) {
  for_each_in_rows<kVector<T>>(q, aligned({out, table}), rows, width,
                               Lookup<T>{out, tokens, table, width, vocab, vocab_offset});
}

template <class G, class T>
void embedding_backward(const Queue& q, G* dtable, const std::int64_t* tokens, const T* dout,
                        std::int64_t rows, std::int64_t width, std::int64_t vocab,
                        std::int64_t vocab_offset, bool accumulate) {
  PLAIT_CHECK(rows < std::numeric_limits<int>::max() &&
                  static_cast<std::size_t>(vocab) * sizeof(Span) <= q.kernel_scratch_bytes,
              "a batch or a vocabulary beyond the kernel's limits");
  if (!accumulate) fill(q, dtable, from_float<G>(0), vocab * width);
  auto* spans = static_cast<Span*>(q.scratch);
  for_each_element<1>(q, false, vocab, ClearSpans{spans});
  for_each_element<1>(q, false, rows, FindSpans{spans, tokens, vocab, vocab_offset});
  constexpr int kWide = kVector<T>;
  const bool vectorised = aligned({dtable, dout}) && width % kWide == 0;
  const std::int64_t vectors = vectorised ? width / kWide : width;
  const unsigned threads = threads_along(vectors);
  const dim3 grid(static_cast<unsigned>(std::min<std::int64_t>(rows, std::int64_t{1} << 20)),
                  static_cast<unsigned>(ceil_div(vectors, threads)));
  auto* kernel = vectorised ? backward_kernel<kWide, G, T> : backward_kernel<1, G, T>;
  launch(kernel, grid, threads, 0, q.stream, dtable, spans, tokens, dout, rows, width, vocab,
         vocab_offset);
}

template <class T>
void positions_forward(const Queue& q, T* out, const T* in, const T* table, std::int64_t sequence,
                       std::int64_t batch, std::int64_t width, const Positions& place,
                       std::int64_t run) {
  for_each_in_rows<kVector<T>>(q, aligned({out, in, table}), sequence * batch, width,
                               AddPositions<T>{out, in, table, batch, width, place, run});
}

template <class G, class T>
void positions_backward(const Queue& q, G* dtable, const T* dout, std::int64_t sequence,
                        std::int64_t batch, std::int64_t width, std::int64_t positions,
                        const Positions& place, bool accumulate, std::int64_t run) {
  if (!accumulate) fill(q, dtable, from_float<G>(0), positions * width);
  if (run > 1) return shared_rows(q, dtable, dout, {sequence, batch, width}, place, run);
  for_each_in_rows<kVector<T>>(q, aligned({dtable, dout}), sequence, width,
                               PositionsGradient<G, T>{dtable, dout, batch, width, place});
}

#define PLAIT_INSTANTIATE(T)                                                                     \
  template void embedding_forward(const Queue&, T*, const std::int64_t*, const T*, std::int64_t, \
                                  std::int64_t, std::int64_t, std::int64_t);                     \
  template void positions_forward(const Queue&, T*, const T*, const T*, std::int64_t,            \
                                  std::int64_t, std::int64_t, const Positions&, std::int64_t);
PLAIT_FOR_ACTIVATIONS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE
#define PLAIT_INSTANTIATE(T, G)                                                                   \
  template void embedding_backward(const Queue&, G*, const std::int64_t*, const T*, std::int64_t, \
                                   std::int64_t, std::int64_t, std::int64_t, bool);               \
  template void positions_backward(const Queue&, G*, const T*, std::int64_t, std::int64_t,        \
                                   std::int64_t, std::int64_t, const Positions&, bool,            \
                                   std::int64_t);
PLAIT_FOR_GRADIENTS(PLAIT_INSTANTIATE)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
