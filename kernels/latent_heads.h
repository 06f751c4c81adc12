#pragma once
// The packed rows [q | k | v] of multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434,
// section 2.1), put together from the queries q[rows, heads, own + rope], the projected latent
// kv[rows, heads, own | values] and the columns that the keys of all heads share,
// rotary[rows, rope].

#include <cstdint>

namespace plait::kernels {

struct LatentShape {
  std::int64_t rows = 0, heads = 0;
  std::int64_t own = 0;     // columns of a head's key that are its own
  std::int64_t rope = 0;    // that it shares, behind them
  std::int64_t values = 0;  // columns of a head's value
};

/// packed[rows, q | k | v]: key head h is kv's columns of that head and the shared ones.
template <class T>
void latent_heads_forward(T* packed, const T* q, const T* kv, const T* rotary,
                          const LatentShape& shape);

/// The gradients of the three; drotary is the sum over the heads.
template <class T>
void latent_heads_backward(T* dq, T* dkv, T* drotary, const T* dpacked, const LatentShape& shape);

}  // namespace plait::kernels
