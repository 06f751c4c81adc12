#pragma once
// The packed rows of multi-head latent attention and their gradients on the device:
// kernels/latent_heads.h, T = float or bf16.

#include "kernels/cuda/queue.h"
#include "kernels/latent_heads.h"

namespace plait::kernels::cuda {

/// packed[rows, q | k | v] from q[rows, heads, own + rope], kv[rows, heads, own | values] and
/// rotary[rows, rope].
template <class T>
void latent_heads_forward(const Queue& q, T* packed, const T* queries, const T* kv, const T* rotary,
                          const LatentShape& shape);

/// The gradients of the three; drotary is the sum over the heads.
template <class T>
void latent_heads_backward(const Queue& q, T* dqueries, T* dkv, T* drotary, const T* dpacked,
                           const LatentShape& shape);

}  // namespace plait::kernels::cuda
