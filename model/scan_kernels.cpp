// The kernels of a chunked scan, mamba_ssm/ops/triton/ssd_combined.py:
// _mamba_chunk_scan_combined_fwd and _bwd, each operand once. T tokens, H heads of P columns, G
// groups of N; S elements of all states between chunks; R T G Q scores, a row of Q for each token
// and group. Steps, decays, states, scores and sums of gradients are fp32; states that are read by
// products are of the activations' type.
//
// FLOPs: C B^T of each group and its product with x under a causal mask, half of which counts;
// states of chunks (B^T x) and results of states (C h), 2 T H P N each (Dao and Gu 2024, section
// 6). Backward twice that is needed; it runs the forward products of scores and states again, and
// that of dy and x^T twice.
#include "model/state_space_ops.h"

namespace plait {
namespace {

constexpr std::int64_t kWide = size_of(DType::kFp32);

struct ScanSizes {
  std::int64_t e;       // bytes of an element
  std::int64_t x;       // elements of x, of y and of their gradients: T H P
  std::int64_t b;       // of B and of C: T G N
  std::int64_t steps;   // T H
  std::int64_t states;  // S
  std::int64_t scores;  // R
  std::int64_t cached;  // bytes of the states of all sequences that a cache keeps, in and out
  bool updates;
  double group, head;  // FLOPs of C B^T, and of its products with x, under the mask
  double state;        // of a product with states

  explicit ScanSizes(const Scan& op)
      : e(size_of(op.dtype)),
        x(op.rows() * op.width()),
        b(op.rows() * op.groups * op.state),
        steps(op.rows() * op.heads),
        states(op.batch * op.chunks() * op.width() * op.state),
        scores(op.rows() * op.groups * op.chunk),
        cached(op.carries ? 2 * op.batch * op.width() * op.state * size_of(op.cached) : 0),
        updates(op.updates()) {
    const auto pairs = static_cast<double>(op.batch * squares_of_chunks(op.seq, op.chunk));
    group = pairs * static_cast<double>(op.groups * op.state);
    head = pairs * static_cast<double>(op.width());
    state = 2 * static_cast<double>(x) * static_cast<double>(op.state);
  }
  std::int64_t step_pair() const { return 2 * steps * kWide; }  // dt' and its sums within a chunk
};

/// h = exp(dt' A) h + dt' x B^T, y = h C + D x: the state once in, once out.
KernelWork update(const ScanSizes& n) {
  return {n.cached + (2 * n.x + 2 * n.b + n.steps) * n.e, 2 * n.state, 2 * n.state};
}

std::vector<KernelWork> forward(const ScanSizes& n) {
  if (n.updates) return {update(n)};
  return {
      {n.steps * n.e + n.step_pair()},                                           // steps
      {(n.x + n.b) * n.e + n.step_pair() + n.states * kWide, n.state, n.state},  // B^T x
      {n.states * (kWide + n.e) + n.cached},                                     // decay
      {2 * n.b * n.e + n.scores * kWide, n.group, n.group},                      // C B^T
      {n.scores * kWide + (2 * n.x + n.b + n.states) * n.e + n.step_pair(),      // y
       n.head + n.state, n.head + n.state},
  };
}

std::vector<KernelWork> backward(const ScanSizes& n) {
  const std::int64_t sum = n.b * kWide;  // dB, dC before they are narrowed
  return {
      {n.steps * n.e + n.step_pair()},                                             // again: steps
      {2 * n.b * n.e + n.scores * kWide, 0, n.group},                              // C B^T
      {(n.x + n.b) * n.e + n.step_pair() + n.states * kWide, 0, n.state},          // B^T x
      {2 * n.states * kWide},                                                      // decay
      {(n.b + n.x) * n.e + n.steps * kWide + n.states * kWide, n.state, n.state},  // dh
      {n.states * (2 * kWide + 2 * n.e)},                                          // its decay
      {n.scores * kWide + (3 * n.x + n.b + n.states) * n.e + n.step_pair() + n.steps * kWide,
       n.head + n.state, n.head + n.state},                                      // dx, ddt
      {(n.x + n.states + n.b) * n.e + n.step_pair() + sum, n.state, n.state},    // dB of dh
      {(n.x + n.states + n.b) * n.e + n.steps * kWide + sum, n.state, n.state},  // dC of h
      {2 * n.x * n.e + n.step_pair() + n.scores * kWide, n.head, n.head},        // dscores
      {n.scores * kWide + 2 * n.b * n.e + sum, n.group, n.group},                // dB of them
      {n.scores * kWide + 2 * n.b * n.e + sum, n.group, n.group},                // dC of them
      {2 * n.x * n.e + n.scores * kWide + n.step_pair() + n.steps * kWide, 0, n.head},  // ddA
      {3 * n.steps * kWide + 2 * n.steps * n.e},                                        // ddt, dA
  };
}

}  // namespace

std::vector<KernelWork> scan_kernels(const Scan& op) {
  return kernels_of(op.pass, ScanSizes(op), forward, backward);
}

}  // namespace plait
