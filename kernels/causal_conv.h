#pragma once
// The convolution of a mixer with states (Dao and Gu 2024, arXiv 2405.21060, section 7; Yang et al.
// 2024, arXiv 2412.06464, section 3.4): each channel by itself over the last `taps` tokens of its
// sample, with silu and, unless `bias` and its gradient are null, a bias behind it.
// Activations are (tokens, samples, width); the channels stand in longer rows.

#include <cstdint>

namespace plait::kernels {

struct ConvShape {
  std::int64_t tokens = 0, samples = 0, channels = 0, taps = 0;
  std::int64_t row_width = 0,
               first = 0;  // of the rows that have the channels, and where these begin
};

/// out[t, c] = silu(bias[c] + sum over k of w[c, k] x[t - taps + 1 + k, c]); out (t, s, channels),
/// w (channels, taps).
template <class T>
void causal_conv_forward(T* out, const T* rows, const T* w, const T* bias, const ConvShape& shape);

/// The channels of drows are written, other columns left; dw and dbias are written or, with
/// `accumulate`, added to.
template <class T>
void causal_conv_backward(T* drows, T* dw, T* dbias, const T* dout, const T* rows, const T* w,
                          const T* bias, const ConvShape& shape, bool accumulate);

}  // namespace plait::kernels
