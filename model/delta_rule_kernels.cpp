// The kernels of a chunked gated delta rule, flash-linear-attention's
// fla/ops/gated_delta_rule/chunk.py (chunk_gated_delta_rule_fwd and _bwd), each operand once, with
// what makes g and beta of the projection and norms of q and k before them. T tokens, H value heads
// with keys of K columns and values of V, in chunks of C; W = T H K, X = T H V, S elements of all
// states between chunks, A = T H C. States and inverses are of the activations' type, inverses
// fp32 while they are made; decays are fp32.
//
// FLOPs of a token and head, products within a chunk under a causal mask, of which half counts:
//   k k^T: C K; its inverse by substitution: C^2 / 3; w = A k, u = A v: C (K + V);
//   v' = u - w h and h' = h + k^T v': 4 K V; y = q h + (q k^T) v': 2 K V + C (K + V).
// Backward twice that is needed. It runs w, u, v' and h again, q k^T twice and k k^T once more.
#include "model/delta_rule_ops.h"

namespace plait {
namespace {

constexpr std::int64_t kWideNumber = size_of(DType::kFp32);

struct DeltaRuleSizes {
  std::int64_t e;        // bytes of an element
  std::int64_t rows;     // of the convolution, elements
  std::int64_t w, x;     // of q or k, and of v or y, of each value head
  std::int64_t steps;    // T H
  std::int64_t inverse;  // A
  std::int64_t states;   // S
  std::int64_t cached;   // bytes of the states of all sequences that a cache keeps, in and out
  bool updates;
  double keys, values;  // FLOPs of a product within chunks that yields or takes K or V columns
  double inversion, state;

  explicit DeltaRuleSizes(const DeltaRule& op)
      : e(size_of(op.dtype)),
        rows(op.rows() * (2 * op.groups * op.key_dim + op.heads * op.value_dim)),
        w(op.rows() * op.heads * op.key_dim),
        x(op.rows() * op.heads * op.value_dim),
        steps(op.rows() * op.heads),
        inverse(steps * op.chunk),
        states(op.batch * op.chunks() * op.heads * op.value_dim * op.key_dim),
        cached(op.carries ? 2 * op.batch * op.heads * op.value_dim * op.key_dim * size_of(op.cached)
                          : 0),
        updates(op.updates()) {
    const auto pairs = static_cast<double>(op.batch * squares_of_chunks(op.seq, op.chunk));
    const auto cubes = static_cast<double>(op.batch * cubes_of_chunks(op.seq, op.chunk));
    keys = pairs * static_cast<double>(op.heads * op.key_dim);
    values = pairs * static_cast<double>(op.heads * op.value_dim);
    inversion = cubes * static_cast<double>(op.heads) / 3;
    state = 2 * static_cast<double>(x) * static_cast<double>(op.key_dim);
  }
  std::int64_t decays() const { return steps * kWideNumber; }
};

/// g and beta; then S k, the state's change and S q, with q and k divided by their length within,
/// the state once in, once out.
std::vector<KernelWork> update(const DeltaRuleSizes& n) {
  return {{2 * n.steps * n.e + 2 * n.decays()},
          {n.cached + (n.rows + n.x) * n.e + 2 * n.decays(), 3 * n.state, 3 * n.state}};
}

std::vector<KernelWork> forward(const DeltaRuleSizes& n) {
  if (n.updates) return update(n);
  return {
      {2 * n.steps * n.e + 2 * n.decays()},               // g, beta
      {(n.rows + 2 * n.w + n.x) * n.e + 2 * n.decays()},  // q, k, v of each head
      {2 * n.decays()},                                   // sums of g in a chunk
      {n.w * n.e + 2 * n.decays() + n.inverse * kWideNumber, n.keys, n.keys},  // k k^T
      {n.inverse * (kWideNumber + n.e), n.inversion, n.inversion},             // its inverse
      {(2 * n.w + 2 * n.x + n.inverse) * n.e + 2 * n.decays(),                 // w, u
       n.keys + n.values, n.keys + n.values},
      {(2 * n.w + 2 * n.x + n.states) * n.e + n.decays() + n.cached,  // v', h
       2 * n.state, 2 * n.state},
      {(2 * n.w + 2 * n.x + n.states) * n.e + n.decays(),  // y
       n.state + n.keys + n.values, n.state + n.keys + n.values},
  };
}

std::vector<KernelWork> backward(const DeltaRuleSizes& n) {
  const double within = n.keys + n.values;
  return {
      {(2 * n.w + 2 * n.x + n.inverse) * n.e + 2 * n.decays(), 0, within},            // again: w, u
      {(2 * n.w + 2 * n.x + n.states) * n.e + n.decays(), 0, 2 * n.state},            // v', h
      {(2 * n.w + 2 * n.x) * n.e + n.decays(), n.values, within},                     // dv within
      {(3 * n.w + 3 * n.x + n.states) * n.e + n.decays(), 3 * n.state, 3 * n.state},  // dh, dv
      {(6 * n.w + 3 * n.x + 2 * n.states) * n.e + 2 * n.decays(),                     // dq, dk, dw
       3 * n.state + n.values + 2 * n.keys, 3 * n.state + n.values + 3 * n.keys},
      {(3 * n.w + 3 * n.x + n.inverse) * n.e + 4 * n.decays(),  // through w, u and the inverse
       4 * n.keys + 2 * n.values + 2 * n.inversion, 5 * n.keys + 2 * n.values + 2 * n.inversion},
      {3 * n.w * n.e},                                    // the sum of both dk
      {3 * n.decays()},                                   // the sum of both dg
      {2 * n.decays()},                                   // its sums in a chunk
      {(4 * n.w + n.x + n.rows) * n.e + 2 * n.decays()},  // through the norms of q and k
      {4 * n.steps * n.e + 3 * n.decays()},               // dbeta, dalpha, da_log, ddt_bias
  };
}

}  // namespace

std::vector<KernelWork> delta_rule_kernels(const DeltaRule& op) {
  return kernels_of(op.pass, DeltaRuleSizes(op), forward, backward);
}

}  // namespace plait
