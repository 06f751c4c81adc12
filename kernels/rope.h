#pragma once
// Rotary position embedding (Su et al. 2021, section 3.2.2) of the query and key heads of a packed
// projection, in place. A head's element i is paired with element i + head_dim / 2, as the Llama
// and GPT-NeoX checkpoints of Hugging Face have it.

#include <cstdint>

#include "kernels/positions.h"

namespace plait::kernels {

struct RopeShape {
  std::int64_t sequence = 0, batch = 0;
  std::int64_t heads = 0;      // rotated ones: query and key heads, first in the row
  std::int64_t head_dim = 0;   // even
  std::int64_t row_width = 0;  // elements of a whole packed row
  Positions place = {};        // of the tokens
  double theta = 10000;        // base of the wavelengths
  std::int64_t skipped = 0;    // columns of each head before its head_dim that are rotated
};

/// Rotates pair i of each head of qkv[s, b, row_width] at position p by p theta^(-2 i / head_dim).
template <class T>
void rope_forward(T* qkv, const RopeShape& shape);

/// The inverse rotation, which takes the gradient of the output to that of the input.
template <class T>
void rope_backward(T* dqkv, const RopeShape& shape);

}  // namespace plait::kernels
