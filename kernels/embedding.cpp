#include "kernels/embedding.h"

#include "kernels/bias_grad.h"
#include "kernels/fill.h"
#include "kernels/vocab_shard.h"

namespace plait::kernels {
template <class T>
void embedding_forward(T* out, const std::int64_t* tokens, const T* table, std::int64_t rows,
                       std::int64_t width, std::int64_t vocab, std::int64_t vocab_offset) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const LocalToken<T> local(tokens[r], vocab, vocab_offset);
    const T* from = table + local.place * width;
    T* to = out + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) to[i] = from[i] * local.factor;
  }
}

template <class T>
void embedding_backward(T* dtable, const std::int64_t* tokens, const T* dout, std::int64_t rows,
                        std::int64_t width, std::int64_t vocab, std::int64_t vocab_offset,
                        bool accumulate) {
  if (!accumulate) fill(dtable, T(0), vocab * width);
  for (std::int64_t r = 0; r < rows; ++r) {
    const LocalToken<T> local(tokens[r], vocab, vocab_offset);
    const T* from = dout + r * width;
    T* to = dtable + local.place * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) to[i] += from[i] * local.factor;
  }
}

template <class T>
void positions_forward(T* out, const T* in, const T* table, std::int64_t sequence,
                       std::int64_t batch, std::int64_t width, const Positions& place,
                       std::int64_t run) {
  for (std::int64_t r = 0; r < sequence * batch; ++r) {
    const T* position = table + place(r / batch) / run * width;
    const T* from = in + r * width;
    T* to = out + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) to[i] = from[i] + position[i];
  }
}

template <class T>
void positions_backward(T* dtable, const T* dout, std::int64_t sequence, std::int64_t batch,
                        std::int64_t width, std::int64_t positions, const Positions& place,
                        bool accumulate, std::int64_t run) {
  if (!accumulate) fill(dtable, T(0), positions * width);
  for (std::int64_t s = 0; s < sequence; ++s) {
    bias_grad(dtable + place(s) / run * width, dout + s * batch * width, batch, width, true);
  }
}

#define PLAIT_INSTANTIATE(T)                                                                      \
  template void embedding_forward(T*, const std::int64_t*, const T*, std::int64_t, std::int64_t,  \
                                  std::int64_t, std::int64_t);                                    \
  template void embedding_backward(T*, const std::int64_t*, const T*, std::int64_t, std::int64_t, \
                                   std::int64_t, std::int64_t, bool);                             \
  template void positions_forward(T*, const T*, const T*, std::int64_t, std::int64_t,             \
                                  std::int64_t, const Positions&, std::int64_t);                  \
  template void positions_backward(T*, const T*, std::int64_t, std::int64_t, std::int64_t,        \
                                   std::int64_t, const Positions&, bool, std::int64_t);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
