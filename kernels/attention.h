#pragma once
// Scaled dot-product attention on packed rows qkv[s, b, row_width] = [q | k | v], heads one beside
// the other, those of queries and keys head_dim wide and those of values value_dim; query head h
// attends with key-value head h / (heads / kv_heads). Softmax of q k^T / sqrt(head_dim); causal: a
// query sees keys up to its own position. Dropout acts on the softmax's results. With context
// parallelism the queries are some of the sequence's tokens, and the keys and values of all of them
// lie, in order, in rows [k | v] of their own. Of documents packed into a sequence each is attended
// to by itself. Within a window a query sees its own key and those of the positions right before.
//
// Fused (Dao et al. 2022, FlashAttention): probabilities exist as 64 x 64 tiles on the stack only,
// tiles above the diagonal and before the window are skipped, and backward computes them again from
// log_sum_exp. Unfused: the whole matrix of probabilities is kept, and with dropout a mask and the
// dropped probabilities.

#include <cstdint>
#include <type_traits>

#include "kernels/dropout.h"
#include "kernels/positions.h"

namespace plait::kernels {

struct AttentionShape {
  std::int64_t sequence = 0, batch = 0, heads = 0, kv_heads = 0, head_dim = 0;
  bool causal = true;
  Positions place = {};         // of the queries
  std::int64_t other_keys = 0;  // keys in rows of their own; 0: as many as queries, beside them
  Positions keys_place = {};    // of the keys; those of a block stand in two runs as queries do
  /// Fused: results are merged with those of other blocks of keys. Forward, context and log_sum_exp
  /// hold these and become those of all; backward, where they are final, gradients of queries are
  /// added to.
  bool merges = false;
  std::int64_t value_dim = 0;  // of values and results; 0: head_dim
  /// Packed documents, none of which sees another: document i stands from bounds[i] to bounds[i +
  /// 1] - 1 of the sequence, whose keys and values all lie here. 0: the sequence is one.
  std::int64_t documents = 0;
  const std::int64_t* bounds = nullptr;
  std::int64_t window = 0;  // positions that a query sees, its own one included; 0: all; causal
  constexpr std::int64_t keys() const { return other_keys > 0 ? other_keys : sequence; }
  constexpr std::int64_t v_dim() const { return value_dim > 0 ? value_dim : head_dim; }
  constexpr std::int64_t row_width() const { return heads * head_dim + kv_row_width(); }
  constexpr std::int64_t kv_row_width() const { return kv_heads * (head_dim + v_dim()); }
};

/// qkv[s, b, row_width]; where keys have rows of their own, kv[keys, b, kv_row_width].
template <class T>
struct Packed {
  T* qkv;
  T* kv = nullptr;
  Packed(T* rows, T* kv_rows = nullptr) : qkv(rows), kv(kv_rows) {}  // implicit: rows alone
};
template <class T>
using PackedOf = std::type_identity_t<Packed<T>>;  // the other arguments say what T is

/// context[s, b, heads v_dim]; log_sum_exp[s, b, heads] of the scaled scores.
template <class T>
void attention_fused_forward(T* context, T* log_sum_exp, PackedOf<const T> rows,
                             const AttentionShape& shape, const Dropout& dropout);

/// Gradients, of the shape of the rows, from dcontext and what the forward pass read and wrote.
/// Columns of keys and values that have rows of their own become 0.
template <class T>
void attention_fused_backward(PackedOf<T> gradients, const T* dcontext, PackedOf<const T> rows,
                              const T* context, const T* log_sum_exp, const AttentionShape& shape,
                              const Dropout& dropout);

/// probabilities, mask and dropped [s, b, heads, keys]; mask and dropped are null without dropout.
template <class T>
void attention_unfused_forward(T* context, T* probabilities, std::uint8_t* mask, T* dropped,
                               PackedOf<const T> rows, const AttentionShape& shape,
                               const Dropout& dropout);

/// mask and dropped are null without dropout; `probability` is that of being dropped.
template <class T>
void attention_unfused_backward(PackedOf<T> gradients, const T* dcontext, PackedOf<const T> rows,
                                const T* context, const T* probabilities, const std::uint8_t* mask,
                                const T* dropped, const AttentionShape& shape, double probability);

}  // namespace plait::kernels
