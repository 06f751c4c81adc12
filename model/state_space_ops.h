#pragma once
// Ops of a state-space mixer (Dao and Gu 2024, Mamba-2, arXiv 2405.21060), as mamba_ssm's kernels
// run them. Packed rows of its first product: [z | x | B | C | dt]; of the convolution [x | B | C].

#include <cstdint>
#include <vector>

#include "model/dtype.h"
#include "model/kernel_work.h"
#include "model/pass.h"

namespace plait {

/// out[t, c] = silu(bias[c] + sum over k < width of w[c, k] x[t - width + 1 + k, c]) of the
/// `channels` x, B and C, or q, k and v, tokens before the sequence being zeros. kBackward computes
/// the sums again. Gated delta nets have no bias. In a step of an engine each of `carried`
/// sequences goes on from the last width - 1 tokens before, which a cache keeps.
struct CausalConv {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, channels = 0, width = 0;
  DType dtype = DType::kBf16;
  bool bias = true;
  std::int64_t carried = 0;  // 0: sequences begin here
};

/// Of each head with a step dt' = softplus(dt + dt_bias) and A = -exp(a_log):
///   h[t] = exp(dt' A) h[t - 1] + dt' x[t] B[t]^T     (head_dim, state)
///   y[t] = h[t] C[t] + d x[t],
/// B and C being those of the head's group. The sequence is taken in chunks: states are written out
/// between them, and within one the sums are products under a causal mask. kBackward makes the
/// states again. In a step of an engine (`carries`) each sequence's state comes from a cache of
/// type `cached` and goes back to it; single tokens (seq 1) are then one kernel, mamba_ssm's
/// selective_state_update, which has no chunks.
struct Scan {
  Pass pass = Pass::kForward;
  std::int64_t batch = 0, seq = 0, heads = 0, head_dim = 0, groups = 0, state = 0, chunk = 0;
  DType dtype = DType::kBf16;
  bool carries = false;
  DType cached = DType::kBf16;
  bool updates() const { return carries && seq == 1; }
  std::int64_t rows() const { return batch * seq; }
  std::int64_t width() const { return heads * head_dim; }
  /// Of a sequence.
  std::int64_t chunks() const { return chunk > 0 ? (seq + chunk - 1) / chunk : 0; }
};

/// out = g rstd gamma with g = y silu(z), rstd of each of `groups` parts of a row by itself, all of
/// them in `width`. kBackward makes `out` again, which the product behind it reads for its
/// weight's gradient. `gate_last`, in gated delta nets: out = y rstd gamma silu(z), with one gamma
/// for all parts; what it made is kept.
struct GatedNorm {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0, groups = 1;
  DType dtype = DType::kBf16;
  bool gate_last = false;
};

std::vector<KernelWork> scan_kernels(const Scan& op);

}  // namespace plait
