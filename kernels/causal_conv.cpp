#include "kernels/causal_conv.h"

#include <algorithm>

#include "kernels/fill.h"
#include "kernels/silu.h"

namespace plait::kernels {
namespace {

/// The token that tap k of token t meets; below 0: none.
std::int64_t token_met(std::int64_t t, std::int64_t k, const ConvShape& s) {
  return t - s.taps + 1 + k;
}

template <class T>
const T* channels_of(const T* rows, std::int64_t t, std::int64_t sample, const ConvShape& s) {
  return rows + (t * s.samples + sample) * s.row_width + s.first;
}

/// Before silu.
template <class T>
T sum_of(const T* rows, const T* w, const T* bias, std::int64_t t, std::int64_t sample,
         std::int64_t c, const ConvShape& s) {
  T sum = bias == nullptr ? T(0) : bias[c];
  for (std::int64_t k = std::max<std::int64_t>(0, s.taps - 1 - t); k < s.taps; ++k) {
    sum += w[c * s.taps + k] * channels_of(rows, token_met(t, k, s), sample, s)[c];
  }
  return sum;
}

}  // namespace

template <class T>
void causal_conv_forward(T* out, const T* rows, const T* w, const T* bias, const ConvShape& s) {
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    for (std::int64_t sample = 0; sample < s.samples; ++sample) {
      T* to = out + (t * s.samples + sample) * s.channels;
      for (std::int64_t c = 0; c < s.channels; ++c) {
        to[c] = silu_of(sum_of(rows, w, bias, t, sample, c, s));
      }
    }
  }
}

template <class T>
void causal_conv_backward(T* drows, T* dw, T* dbias, const T* dout, const T* rows, const T* w,
                          const T* bias, const ConvShape& s, bool accumulate) {
  if (!accumulate) fill(dw, T(0), s.channels * s.taps);
  if (!accumulate && dbias != nullptr) fill(dbias, T(0), s.channels);
  for (std::int64_t row = 0; row < s.tokens * s.samples; ++row) {
    fill(drows + row * s.row_width + s.first, T(0), s.channels);
  }
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    for (std::int64_t sample = 0; sample < s.samples; ++sample) {
      const T* from = dout + (t * s.samples + sample) * s.channels;
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const T d = from[c] * silu_slope(sum_of(rows, w, bias, t, sample, c, s));
        if (dbias != nullptr) dbias[c] += d;
        for (std::int64_t k = std::max<std::int64_t>(0, s.taps - 1 - t); k < s.taps; ++k) {
          const std::int64_t met = token_met(t, k, s);
          dw[c * s.taps + k] += d * channels_of(rows, met, sample, s)[c];
          drows[(met * s.samples + sample) * s.row_width + s.first + c] += d * w[c * s.taps + k];
        }
      }
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                             \
  template void causal_conv_forward(T*, const T*, const T*, const T*, const ConvShape&); \
  template void causal_conv_backward(T*, T*, T*, const T*, const T*, const T*, const T*, \
                                     const ConvShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
