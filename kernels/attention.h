#pragma once
// Scaled dot-product attention on packed rows qkv[s, b, (heads + 2 kv_heads) head_dim] = [q | k |
// v]; query head h attends with key-value head h / (heads / kv_heads). Softmax of q k^T /
// sqrt(head_dim); causal: a query sees keys up to its own position. Dropout acts on the softmax's
// results.
//
// Fused (Dao et al. 2022, FlashAttention): probabilities exist as 64 x 64 tiles on the stack only,
// tiles above the diagonal are skipped, and backward computes them again from log_sum_exp. Unfused:
// the whole matrix of probabilities is kept, and with dropout a mask and the dropped probabilities.

#include <cstdint>

#include "kernels/dropout.h"

namespace plait::kernels {

struct AttentionShape {
  std::int64_t sequence = 0, batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = true;
  std::int64_t row_width() const { return (heads + 2 * kv_heads) * head_dim; }
};

/// context[s, b, heads head_dim]; log_sum_exp[s, b, heads] of the scaled scores.
template <class T>
void attention_fused_forward(T* context, T* log_sum_exp, const T* qkv, const AttentionShape& shape,
                             const Dropout& dropout);

/// dqkv, of qkv's shape, from dcontext and what the forward pass read and wrote.
template <class T>
void attention_fused_backward(T* dqkv, const T* dcontext, const T* qkv, const T* context,
                              const T* log_sum_exp, const AttentionShape& shape,
                              const Dropout& dropout);

/// probabilities, mask and dropped [s, b, heads, s]; mask and dropped are null without dropout.
template <class T>
void attention_unfused_forward(T* context, T* probabilities, std::uint8_t* mask, T* dropped,
                               const T* qkv, const AttentionShape& shape, const Dropout& dropout);

/// mask and dropped are null without dropout; `probability` is that of being dropped.
template <class T>
void attention_unfused_backward(T* dqkv, const T* dcontext, const T* qkv, const T* context,
                                const T* probabilities, const std::uint8_t* mask, const T* dropped,
                                const AttentionShape& shape, double probability);

}  // namespace plait::kernels
