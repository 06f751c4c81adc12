// Bytes that each op moves to and from device memory: every operand read once, every result written
// once, caches perfect within a kernel and useless between kernels. The table with all rows is in
// docs/models/ops.md.

#include <algorithm>

#include "model/op.h"

namespace plait {
namespace {

/// Row statistics, log-sum-exp and reduction results are kept in fp32.
constexpr std::int64_t kStatBytes = 4;
/// Token ids and targets, PyTorch's index type.
constexpr std::int64_t kIndexBytes = size_of(DType::kInt64);
/// A dropout mask holds one byte per element, as PyTorch's native_dropout and Megatron store it
/// (Korthikanti et al. 2022, section 4.1).
constexpr std::int64_t kMaskBytes = 1;

/// B as it is stored.
std::int64_t weight_bytes(const MatMul& op) {
  const std::int64_t quantised = bytes_of_256(op.weights);
  return quantised > 0 ? op.k * op.n * quantised / 256 : bytes_of(op.in, op.k * op.n);
}

/// A (m, k) and B (k, n) once; out (m, n) once, or read and written when it accumulates; the
/// epilogue reads bias[n] forward and writes dbias[m] in a weight gradient, where m counts outputs.
std::int64_t traffic(const MatMul& op) {
  const std::int64_t operands = bytes_of(op.in, op.m * op.k) + weight_bytes(op);
  const std::int64_t touches = op.accumulate ? 2 : 1;
  const std::int64_t result = touches * op.m * op.n * size_of(op.out);
  std::int64_t bias = 0;
  if (op.bias) {
    bias = op.pass == Pass::kWeightGrad ? touches * op.m * size_of(op.out) : op.n * size_of(op.in);
  }
  return op.batch * (operands + result) + bias;
}

/// Sizes in bytes of attention's operands.
struct AttentionBytes {
  std::int64_t query;   // (b, a, s_q, d): Q and its gradient each
  std::int64_t out;     // (b, a, s_q, d_v): O and its gradient each
  std::int64_t key;     // (b, a_kv, s_kv, d): K and its gradient each
  std::int64_t value;   // (b, a_kv, s_kv, d_v): V and its gradient each; part of the keys: 0
  std::int64_t rows;    // (b, a, s_q) in fp32: log-sum-exp, or rowsum(dO * O)
  std::int64_t square;  // (b, a, s_q, s_kv): scores or probabilities
  std::int64_t mask;    // the same in dropout mask bytes

  explicit AttentionBytes(const Attention& op)
      : query(op.batch * op.heads * op.seq_q * op.head_dim * size_of(op.dtype)),
        out(op.batch * op.heads * op.seq_q * op.v_dim() * size_of(op.dtype)),
        key(op.batch * op.kv_heads * op.seq_kv * op.head_dim * size_of(op.dtype)),
        value(op.latents ? 0 : op.batch * op.kv_heads * op.seq_kv * op.v_dim() * size_of(op.dtype)),
        rows(op.batch * op.heads * op.seq_q * kStatBytes),
        square(op.batch * op.heads * op.seq_q * op.seq_kv * size_of(op.dtype)),
        mask(op.batch * op.heads * op.seq_q * op.seq_kv * kMaskBytes) {}
};

/// Dao et al. 2022 (arXiv 2205.14135), algorithms 2 and 4. Dropout is regenerated from its seed.
std::int64_t fused_attention(const AttentionBytes& b, bool backward) {
  const std::int64_t operands = b.query + b.key + b.value;  // Q, K, V; dQ, dK, dV
  if (!backward) return operands + b.out + b.rows;          // O; log-sum-exp
  const std::int64_t read = operands + 2 * b.out + b.rows;  // O, dO; log-sum-exp
  const std::int64_t written = operands;
  return read + written + 2 * b.rows;  // rowsum(dO * O): written by one kernel, read by the next
}

/// A kernel behind that of the block, as Transformer Engine's flash_attn_fwd_out_correction: reads
/// the block's result and the sum so far, O or dQ, and writes the sum.
std::int64_t merge(const Attention& op, const AttentionBytes& b) {
  if (!op.merges()) return 0;
  return 3 * (op.pass == Pass::kForward ? b.out : b.query);
}

/// One kernel after the other, each through memory.
std::int64_t unfused_forward(const Attention& op, const AttentionBytes& b) {
  const std::int64_t scores = b.query + b.key + b.square;    // S = Q K^T
  const std::int64_t masked = op.causal ? 2 * b.square : 0;  // in place, from the indices
  const std::int64_t softmax = 2 * b.square;                 // P = softmax(S)
  const std::int64_t dropped = op.dropout ? 2 * b.square + b.mask : 0;  // P' and its mask
  const std::int64_t output = b.square + b.value + b.out;               // O = P' V
  return scores + masked + softmax + dropped + output;
}

std::int64_t unfused_backward(const Attention& op, const AttentionBytes& b) {
  const std::int64_t dv = b.square + b.out + b.value;                   // dV = P'^T dO
  const std::int64_t dp = b.out + b.value + b.square;                   // dP' = dO V^T
  const std::int64_t dropped = op.dropout ? 2 * b.square + b.mask : 0;  // dP from dP' and mask
  const std::int64_t softmax = 3 * b.square;                            // dS from dP and P
  const std::int64_t masked = op.causal ? 2 * b.square : 0;             // dS zeroed in place
  const std::int64_t dq = b.square + b.key + b.query;                   // dQ = dS K
  const std::int64_t dk = b.square + b.query + b.key;                   // dK = dS^T Q
  return dv + dp + dropped + softmax + masked + dq + dk;
}

std::int64_t traffic(const Attention& op) {
  const AttentionBytes bytes(op);
  switch (op.pass) {
    case Pass::kForward:
      return op.fused ? fused_attention(bytes, false) + merge(op, bytes)
                      : unfused_forward(op, bytes);
    case Pass::kBackward:
    case Pass::kInputGrad:
      return op.fused ? fused_attention(bytes, true) + merge(op, bytes)
                      : unfused_backward(op, bytes);
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return 0;  // no weights
  }
  return 0;
}

/// Statistics are rstd per row, and the mean too with LayerNorm; parameters gamma, and beta.
std::int64_t traffic(const Norm& op) {
  const std::int64_t matrix = op.rows * op.width * size_of(op.dtype);
  const std::int64_t vectors = op.kind == NormKind::kLayerNorm ? 2 : 1;
  const std::int64_t stats = vectors * op.rows * kStatBytes;
  const std::int64_t gamma = op.width * size_of(op.dtype);
  switch (op.pass) {
    case Pass::kForward: return 2 * matrix + stats + vectors * gamma;           // x; y
    case Pass::kBackward: return 3 * matrix + stats + gamma + vectors * gamma;  // x, dy; dx
    case Pass::kInputGrad: return 3 * matrix + stats + gamma;
    case Pass::kWeightGrad: return 2 * matrix + stats + vectors * gamma;  // x, dy; dgamma, dbeta
    case Pass::kOptimizer: return 0;
  }
  return 0;
}

/// Forward reads and writes whole rows, backward queries and keys: x, and dy that becomes dx.
std::int64_t traffic(const HeadNorm& op) {
  const std::int64_t matrix = op.rows * op.normed_width() * size_of(op.dtype);
  const std::int64_t values = op.rows * op.value_width * size_of(op.dtype);
  const std::int64_t stats = op.rows * (op.heads + op.kv_heads) * kStatBytes;
  const std::int64_t gammas = (op.head_dim + op.key_dim) * size_of(op.dtype);
  switch (op.pass) {
    case Pass::kForward: return 2 * (matrix + values) + stats + gammas;
    case Pass::kBackward: return 3 * matrix + stats + 2 * gammas;
    case Pass::kInputGrad: return 3 * matrix + stats + gammas;
    case Pass::kWeightGrad: return 2 * matrix + stats + gammas;
    case Pass::kOptimizer: return 0;
  }
  return 0;
}

/// Backward reads the saved input and dy, writes dx: the output is never needed again.
std::int64_t traffic(const Activation& op) {
  const std::int64_t output = op.rows * op.width * size_of(op.dtype);
  const std::int64_t input = (op.gated ? 2 : 1) * output;
  const std::int64_t gates = op.weighted ? op.rows * size_of(op.dtype) : 0;
  switch (op.pass) {
    case Pass::kForward: return input + output + gates;
    case Pass::kBackward:
    case Pass::kInputGrad: return input + output + input + 2 * gates;
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return 0;  // no weights
  }
  return 0;
}

/// x, g, out; backward dout, x, g, dx and dg.
std::int64_t traffic(const Gate& op) {
  const std::int64_t matrix = op.rows * op.width, gates = op.per_row ? op.rows : matrix;
  if (op.pass == Pass::kWeightGrad) return 0;  // no weights
  const bool forward = op.pass == Pass::kForward;
  return (forward ? 2 * matrix + gates : 3 * matrix + 2 * gates) * size_of(op.dtype);
}

/// In place, forward and backward alike (the inverse rotation). The table of sines is one row of
/// head_dim per position, shared by all heads and samples, and stays in cache.
std::int64_t traffic(const Rope& op) {
  if (op.pass == Pass::kWeightGrad) return 0;  // no weights
  return 2 * op.rows * op.width * size_of(op.dtype);
}

/// Queries, the projected latent and the shared columns on one side, packed rows on the other.
std::int64_t traffic(const LatentHeads& op) {
  if (op.pass == Pass::kWeightGrad) return 0;  // no weights
  const std::int64_t apart =
      op.heads * (2 * op.head_dim - op.rope_dim + op.value_dim) + op.rope_dim;
  const std::int64_t packed = op.heads * (2 * op.head_dim + op.value_dim);
  return op.rows * (apart + packed) * size_of(op.dtype);
}

/// x, out; backward x, dout, dx. Taps and, where there is one, a bias of each channel; the tokens
/// that a cache keeps, in and out.
std::int64_t traffic(const CausalConv& op) {
  const std::int64_t matrix = op.rows * op.channels * size_of(op.dtype);
  const std::int64_t weights = op.channels * (op.width + (op.bias ? 1 : 0)) * size_of(op.dtype);
  const std::int64_t kept = op.carried * op.channels * (op.width - 1) * size_of(op.dtype);
  switch (op.pass) {
    case Pass::kForward: return 2 * matrix + weights + 2 * kept;
    case Pass::kBackward: return 3 * matrix + 2 * weights;
    case Pass::kInputGrad: return 3 * matrix + weights;
    case Pass::kWeightGrad: return 2 * matrix + weights;
    case Pass::kOptimizer: return 0;
  }
  return 0;
}

std::int64_t bytes_of(const std::vector<KernelWork>& kernels) {
  std::int64_t sum = 0;
  for (const KernelWork& kernel : kernels) sum += kernel.bytes;
  return sum;
}
std::int64_t traffic(const Scan& op) { return bytes_of(scan_kernels(op)); }
std::int64_t traffic(const DeltaRule& op) { return bytes_of(delta_rule_kernels(op)); }

/// y, z, out; backward y, z, dout, dy, dz and, unless it is kept, out again.
std::int64_t traffic(const GatedNorm& op) {
  const std::int64_t matrix = op.rows * op.width * size_of(op.dtype);
  const std::int64_t stats = op.rows * op.groups * kStatBytes;
  const std::int64_t gamma = op.width / (op.gate_last ? op.groups : 1) * size_of(op.dtype);
  const std::int64_t back = (op.gate_last ? 5 : 6) * matrix + stats + gamma;
  switch (op.pass) {
    case Pass::kForward: return 3 * matrix + stats + gamma;
    case Pass::kBackward: return back + gamma;
    case Pass::kInputGrad: return back;
    case Pass::kWeightGrad: return 3 * matrix + stats + gamma;
    case Pass::kOptimizer: return 0;
  }
  return 0;
}

/// Of the table at most `vocab` rows are touched, however many tokens there are. Position rows are
/// counted per token.
std::int64_t traffic(const Embedding& op) {
  const std::int64_t ids = op.rows * kIndexBytes;
  const std::int64_t output = op.rows * op.width;
  const std::int64_t table_rows =
      std::min(op.rows, op.vocab) + (op.learned_positions ? op.rows : 0);
  const std::int64_t table = table_rows * op.width;
  if (op.pass == Pass::kForward) return ids + (table + output) * size_of(op.dtype);
  if (op.pass == Pass::kInputGrad) return 0;  // token ids have no gradient
  return ids + output * size_of(op.dtype) + 2 * table * size_of(op.grad_dtype);
}

/// Each step streams the local logits once; only kGradient writes them back.
std::int64_t traffic(const CrossEntropy& op) {
  const std::int64_t logits = op.rows * op.vocab * size_of(op.dtype);
  const std::int64_t maxima = op.rows * kStatBytes;
  const std::int64_t sums = 2 * op.rows * kStatBytes;  // sum of exponentials, target logit
  const std::int64_t targets = op.rows * kIndexBytes;
  switch (op.step) {
    case CrossEntropy::Step::kRowMax: return logits + maxima;
    case CrossEntropy::Step::kSums: return logits + maxima + targets + sums;
    case CrossEntropy::Step::kLoss: return sums + maxima + kStatBytes;
    case CrossEntropy::Step::kGradient: return 2 * logits + maxima + sums + targets;
  }
  return 0;
}

/// Logits once, gates, and slots as indices; backward gates, their gradients and slots, and
/// all logits' gradients.
std::int64_t traffic(const Route& op) {
  const std::int64_t logits = op.rows() * op.experts * size_of(op.dtype);
  const std::int64_t chosen = op.rows() * op.chosen;
  const std::int64_t kept = chosen * (size_of(op.dtype) + kIndexBytes);
  switch (op.pass) {
    case Pass::kForward: return logits + kept;
    case Pass::kBackward:
    case Pass::kInputGrad: return logits + kept + chosen * size_of(op.dtype);
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return 0;  // no weights
  }
  return 0;
}

/// Every slot is written (read) once, and read (written) is each token; of gathered ones, which
/// slots are a rank's own is written too.
std::int64_t traffic(const Dispatch& op) {
  const std::int64_t index = (op.senders > 0 ? 2 : 1) * op.rows * op.chosen * kIndexBytes;
  return index + (op.rows + op.slots) * op.width * size_of(op.dtype);
}

/// Backward reads the slots for the gates' gradients and writes those of the slots.
std::int64_t traffic(const Combine& op) {
  if (!op.weighted)
    return traffic(Dispatch{op.pass, op.rows, op.width, op.chosen, op.slots, op.dtype});
  const std::int64_t chosen = op.rows * op.chosen * (size_of(op.dtype) + kIndexBytes);
  const std::int64_t tokens = op.rows * op.width, slots = op.slots * op.width;
  if (op.pass == Pass::kForward) return chosen + (tokens + slots) * size_of(op.dtype);
  const std::int64_t gates = op.rows * op.chosen * size_of(op.dtype);
  return chosen + gates + (tokens + 2 * slots) * size_of(op.dtype);
}

/// Without dropout the gradient of b is the gradient of the sum itself: nothing moves backward.
std::int64_t traffic(const Add& op) {
  const std::int64_t elements = op.rows * op.width;
  const std::int64_t matrix = elements * size_of(op.dtype);
  const std::int64_t mask = op.dropout ? elements * kMaskBytes : 0;
  switch (op.pass) {
    case Pass::kForward:
      return (op.alone ? 1 : 2) * matrix + elements * size_of(op.addend.value_or(op.dtype)) + mask +
             (op.bias ? op.width * size_of(op.dtype) : 0);
    case Pass::kBackward:
    case Pass::kInputGrad: return op.dropout || op.scaled ? 2 * matrix + mask : 0;
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return 0;  // the bias gradient is a BiasGrad
  }
  return 0;
}

std::int64_t traffic(const BiasGrad& op) {
  return op.rows * op.width * size_of(op.dtype) + op.width * size_of(op.grad_dtype);
}

/// Codes, the scales of their blocks in fp32, results. Nested scales are read in 8 bits with an
/// fp32 scale for each block of theirs, and written in fp32.
std::int64_t dequantised(const Cast& op) {
  const std::int64_t scales = ceil_div(op.elements, kNf4Block);
  const std::int64_t fp32 = size_of(DType::kFp32);
  const std::int64_t nested = scales * (1 + fp32) + ceil_div(scales, kNf4Scales) * fp32;
  return bytes_of(op.from, op.elements) + scales * fp32 + (op.nested ? nested : 0) +
         bytes_of(op.to, op.elements);
}

/// To fp8 a transposed copy is written too: products of 8 bits want both operands along k, and the
/// backward pass multiplies along the other dimension (Transformer Engine, cast_transpose). To
/// nvfp4 as many as the op says.
std::int64_t traffic(const Cast& op) {
  if (op.from == DType::kNf4 && op.to != op.from) return dequantised(op);
  const bool beside = op.to == DType::kFp8 && op.from != DType::kFp8 && !op.scaled && !op.alone;
  const std::int64_t copies = beside || op.accumulate ? 2 : op.copies;  // read and written
  return bytes_of(op.from, op.elements) + copies * bytes_of(op.to, op.elements);
}

std::int64_t traffic(const Fill& op) { return op.elements * size_of(op.dtype); }

std::int64_t traffic(const SquaredNorm& op) { return op.elements * size_of(op.dtype) + kStatBytes; }

std::int64_t traffic(const Amax& op) { return op.elements * size_of(op.dtype); }

/// Reads gradient, master and both moments; writes master and moments, and the weight when it is
/// not the master itself (Rajbhandari et al. 2020, section 3.1, lists the states).
std::int64_t traffic(const Adam& op) {
  const std::int64_t states = 2 * (size_of(op.master) + 2 * size_of(op.moments));
  const std::int64_t weight = op.weight == op.master || op.split ? 0 : size_of(op.weight);
  return op.elements * (size_of(op.grad) + states + weight);
}

}  // namespace

Bytes memory_traffic(const Compute& op) {
  return std::visit([](const auto& kernel) { return Bytes(traffic(kernel)); }, op);
}

}  // namespace plait
