#pragma once
// Scaled dot-product attention on the device: kernels/attention.h, T = float or bf16. Packed rows,
// grouped heads, values of another width, context parallelism, blocks of keys that are merged,
// packed documents (bounds in device memory), windows and dropout are those of the twin, the same
// draws included. Fused: head_dim and v_dim are multiples of 8, at most 192 and 128; heads, batch <
// 2^16.
//
// Fused: tiles of scores stay in registers; products run on tensor cores for bf16; tiles that lie
// between documents or before a window are skipped. Backward is deterministic: one pass makes dk
// and dv, another dq. Unfused: batched products and a softmax over whole rows; backward takes as
// many queries at a time as the scratch memory holds.

#include <cuda_bf16.h>

#include "kernels/attention.h"
#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// context[s, b, heads v_dim]; log_sum_exp[s, b, heads] of the scaled scores.
template <class T>
void attention_fused_forward(const Queue& q, T* context, float* log_sum_exp, PackedOf<const T> rows,
                             const AttentionShape& shape, const Dropout& dropout);

/// Gradients, of the shape of the rows, from dcontext and what the forward pass read and wrote.
/// Columns of keys and values that have rows of their own become 0. batch sequence heads <= 2^23:
/// their dot products lie in the scratch memory.
template <class T>
void attention_fused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                              PackedOf<const T> rows, const T* context, const float* log_sum_exp,
                              const AttentionShape& shape, const Dropout& dropout);

/// probabilities, mask and dropped [s, b, heads, keys]; mask and dropped are null without dropout.
template <class T>
void attention_unfused_forward(const Queue& q, T* context, T* probabilities, std::uint8_t* mask,
                               T* dropped, PackedOf<const T> rows, const AttentionShape& shape,
                               const Dropout& dropout);

/// mask and dropped are null without dropout; `probability` is that of being dropped.
template <class T>
void attention_unfused_backward(const Queue& q, PackedOf<T> gradients, const T* dcontext,
                                PackedOf<const T> rows, const T* context, const T* probabilities,
                                const std::uint8_t* mask, const T* dropped,
                                const AttentionShape& shape, double probability);

}  // namespace plait::kernels::cuda
