#pragma once
// The gated delta rule (Yang et al. 2024, Gated Delta Networks, arXiv 2412.06464, section 3.1),
// value head by value head, of q[key_dim] and k[key_dim] of the head's group, v[value_dim], alpha
// and beta:
//
//   q' = q / |q|, k' = k / |k|, g = -exp(a_log) softplus(alpha + dt_bias), b = sigmoid(beta)
//   S[t] = exp(g) S[t - 1] + b (v - exp(g) S[t - 1] k') k'^T    (value_dim, key_dim), S[-1] = 0
//   y[t] = S[t] q' / sqrt(key_dim)
//
// Activations are (tokens, samples, width). Rows are [q | k | v]; beta and alpha of each head are,
// in pairs, the last columns of other rows.

#include <cstdint>

namespace plait::kernels {

struct DeltaRuleShape {
  std::int64_t tokens = 0, samples = 0, heads = 0, value_dim = 0, groups = 0, key_dim = 0;
  std::int64_t chunk = 0;         // tokens from one state that is written to the next
  std::int64_t packed_width = 0;  // of the rows that end with the pairs

  std::int64_t width() const { return heads * value_dim; }
  std::int64_t row_width() const { return width() + 2 * groups * key_dim; }
  std::int64_t kept_width() const { return width() + 2 * heads * key_dim; }
  std::int64_t state_elements() const { return value_dim * key_dim; }
};

/// a_log and dt_bias, of each head.
template <class T>
struct DeltaRuleWeights {
  const T *a_log, *dt_bias;
};
template <class T>
struct DeltaRuleGradients {
  T *a_log, *dt_bias;
};

/// What backward reads: q', k' and v of each head, rows [q' | k' | v] of kept_width(), and of each
/// token and head g, b, 1 / |q| and 1 / |k|.
template <class T>
struct DeltaRuleKept {
  T *rows, *stats;
};

/// y (tokens, samples, heads value_dim); states (chunks, samples, heads, value_dim key_dim), each
/// as it is before its chunk.
template <class T>
void delta_rule_forward(T* y, const DeltaRuleKept<T>& kept, T* states, const T* rows,
                        const T* packed, const DeltaRuleWeights<T>& weights,
                        const DeltaRuleShape& shape);

/// drows is written, and of dpacked the pairs; `states` are made again. Gradients of the weights
/// are written or, with `accumulate`, added to.
template <class T>
void delta_rule_backward(T* drows, T* dpacked, const DeltaRuleGradients<T>& gradients, T* states,
                         const T* dy, const DeltaRuleKept<const T>& kept, const T* packed,
                         const DeltaRuleWeights<T>& weights, const DeltaRuleShape& shape,
                         bool accumulate);

}  // namespace plait::kernels
