#pragma once
// Ops of a gated delta net (Yang et al. 2024, Gated Delta Networks, arXiv 2412.06464, section 3),
// as flash-linear-attention's kernels run them. Packed rows of its first product: [z | q | k | v |
// pairs of beta and alpha]; of the convolution [q | k | v].

#include <cstdint>
#include <vector>

#include "model/dtype.h"
#include "model/kernel_work.h"
#include "model/pass.h"

namespace plait {

/// Of each of `heads` value heads, q and k being those of its group divided by their length, and
/// g = -exp(a_log) softplus(alpha + dt_bias), b = sigmoid(beta):
///   S[t] = exp(g) S[t - 1] (I - b k k^T) + b v k^T    (value_dim, key_dim)
///   y[t] = S[t] q / sqrt(key_dim).
/// The sequence is taken in chunks, within which the products of I - b k k^T are one triangular
/// inverse (the WY representation). kForward keeps q, k and v of each value head, the inverse and
/// four numbers of each head; kBackward makes the states again. In a step of an engine (`carries`)
/// each sequence's state comes from a cache of type `cached` and goes back to it; single tokens
/// (seq 1) then go through the rule itself, flash-linear-attention's
/// fused_recurrent_gated_delta_rule.
struct DeltaRule {
  Pass pass = Pass::kForward;
  std::int64_t batch = 0, seq = 0, heads = 0, value_dim = 0, groups = 0, key_dim = 0, chunk = 0;
  DType dtype = DType::kBf16;
  bool carries = false;
  DType cached = DType::kBf16;
  bool updates() const { return carries && seq == 1; }
  std::int64_t rows() const { return batch * seq; }
  /// Of a sequence.
  std::int64_t chunks() const { return chunk > 0 ? (seq + chunk - 1) / chunk : 0; }
};
/// Numbers of each head that are kept: the decay, how much of the key is replaced, and what q and k
/// are divided by.
inline constexpr std::int64_t kDeltaRuleStats = 4;
std::vector<KernelWork> delta_rule_kernels(const DeltaRule& op);

}  // namespace plait
