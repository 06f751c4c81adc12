#pragma once
// Rotary position embedding on the device: kernels/rope.h, T = float or bf16.

#include "kernels/cuda/queue.h"
#include "kernels/rope.h"

namespace plait::kernels::cuda {

/// Rotates pair i of each head of qkv[s, b, row_width] at position p by p theta^(-2 i / head_dim).
/// head_dim <= 1024.
template <class T>
void rope_forward(const Queue& q, T* qkv, const RopeShape& shape);

/// The inverse rotation, which takes the gradient of the output to that of the input.
template <class T>
void rope_backward(const Queue& q, T* dqkv, const RopeShape& shape);

}  // namespace plait::kernels::cuda
