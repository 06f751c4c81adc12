#pragma once
// The vocabulary of computation: what one kernel launch does, with its FLOPs and the bytes that it
// must move. Sizes are those of one rank, after sharding. Formulas with their sources are in
// docs/models/ops.md and beside their code (op.cpp, op_traffic.cpp). A multiply-add counts as two
// FLOPs.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/quantity.h"
#include "model/delta_rule_ops.h"
#include "model/dtype.h"
#include "model/model.h"
#include "model/pass.h"
#include "model/state_space_ops.h"
#include "model/weight_format.h"

namespace plait {

/// out[m, n] = A[m, k] B[k, n], `batch` times (the experts of a rank: a grouped GEMM). Forward
/// y = x W^T is `kNT`, dgrad dx = dy W is `kNN`, wgrad dW = dy^T x is `kTN` (row-major letters of A
/// and B as stored). `weights`: B is stored quantised and widened to `in` on its way.
enum class GemmLayout : std::uint8_t { kNT, kNN, kTN };
/// Projections of one input that a matrix holds side by side: queries, keys and values, or the two
/// inputs of a gated activation. Their columns, before sharding; 0 is none, or one that is not
/// computed again. Frameworks may run them as a product each (Kernels::qkv, Kernels::gate).
struct PackedProjections {
  std::array<std::int64_t, 3> columns = {};
  bool gate = false;
};
struct MatMul {
  Pass pass = Pass::kForward;
  GemmLayout layout = GemmLayout::kNT;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType in = DType::kBf16, out = DType::kBf16;
  bool accumulate = false;  // out += : the output is read too
  bool bias = false;        // forward: adds bias[n]; wgrad: also writes dbias[m] (epilogue)
  /// 8-bit operands have a scale for each row, by which a kernel of its own multiplies the result.
  bool rescaled = false;
  WeightFormat weights = WeightFormat::kPlain;
  PackedProjections packed = {};
  /// Tensor parallelism with overlap: of the whole operand with the rows of all ranks, those of the
  /// rank so many places before this one along tp. -1: all rows.
  std::int64_t ring_step = -1;
  /// Experts of a serving step, by an inference engine's kernel for all of them.
  bool served = false;
  /// Rows that one matrix of the batch may have, where they are not alike: those of all tokens that
  /// choose among experts. 0: m each.
  std::int64_t most_rows = 0;
  /// By llama.cpp: which kernels weights in MXFP4 have. Those in its other formats have its own in
  /// all engines.
  bool in_llama_cpp = false;
  /// Operands are copies that torch.autocast has made, and so is what becomes of the result: sums
  /// of gradients are those of the casts behind.
  bool autocast = false;
};

/// Scaled dot-product attention over (batch, heads, seq_q, head_dim) x (batch, kv_heads, seq_kv,
/// head_dim), with values and results of `value_dim` columns a head. Fused (flash): probabilities
/// stay on chip, backward recomputes them. Unfused: the (batch, heads, seq_q, seq_kv) matrix goes
/// through memory, with softmax, mask and dropout as separate kernels. Fused kernels: the newest
/// of the device as inference engines call it (FlashAttention-2 on Ampere, -3 on Hopper,
/// TensorRT-LLM's on Blackwell); an older FlashAttention, also where there is a newer one;
/// FlashAttention-4 on Blackwell, and cuDNN's there and on Hopper; PyTorch's choice of 2024 and
/// 2025, FlashAttention-2 and, on Blackwell, cuDNN's.
enum class FlashKernel : std::uint8_t { kNewest, kFlash1, kFlash2, kFlash4, kCudnn, kSdpa };
/// Documents packed into each sequence, none of which sees another (FlashAttention's varlen
/// kernels): how many, the longest, and the sum of their lengths' squares, or of what a window
/// leaves of these (band_of). Where queries are a share of the sequence: their runs within
/// documents, the most keys of one, and twice their pairs.
struct DocumentSizes {
  std::int64_t count = 0, longest = 0, squares = 0;  // count 0: the sequence is one
};
/// Of a square of `length` queries and keys, what lies within a window on both sides of the
/// diagonal: l^2 - (l - w)^2. 0: no window. Half of it are the causal pairs, whose diagonal counts
/// half, as that of the whole square does.
template <class T>
constexpr T band_of(T length, T window) {
  const T beyond = window > 0 && window < length ? length - window : 0;
  return length * length - beyond * beyond;
}
struct Attention {
  Pass pass = Pass::kForward;
  std::int64_t batch = 0, heads = 0, kv_heads = 0, seq_q = 0, seq_kv = 0, head_dim = 0;
  bool causal = true, fused = true, dropout = false;
  DType dtype = DType::kBf16;
  std::int64_t value_dim = 0;  // 0: head_dim
  /// The values are the first value_dim columns of the keys and are not read apart: the latents
  /// that multi-head latent attention keeps, one for all heads, with the products that make keys
  /// and values of them moved to queries and results (DeepSeek-AI 2024, arXiv 2405.04434, section
  /// 2.1.2).
  bool latents = false;
  FlashKernel kernel = FlashKernel::kNewest;
  /// Context parallelism: the queries are a share of the sequence's tokens that sees half of all
  /// causal pairs, seq_q seq_kv / 2.
  bool balanced = false;
  /// Ring attention: the keys are the block of tokens of the rank so many places before this one
  /// along cp, and results are merged with those of the blocks before (log-sum-exp). -1: no ring.
  std::int64_t ring_step = -1;
  DocumentSizes documents = {};
  /// Keys that a query sees: its own and those right before it (Model::attention_window). 0: all.
  std::int64_t window = 0;
  bool windowed() const { return window > 0 && window < seq_kv; }
  bool merges() const { return ring_step > 0; }
  std::int64_t v_dim() const { return value_dim > 0 ? value_dim : head_dim; }
};

/// y = (x - mean) rstd gamma + beta over rows of `width`. kInputGrad + weight gradients together =
/// kBackward.
struct Norm {
  Pass pass = Pass::kForward;
  NormKind kind = NormKind::kRmsNorm;
  std::int64_t rows = 0, width = 0;
  DType dtype = DType::kBf16;
};

/// Packed rows [q | k | v] of which each of the `heads` queries, head_dim columns, and `kv_heads`
/// keys, key_dim columns, is normalised by itself, x rstd gamma, with one gamma for queries and one
/// for keys; values stay as they are. Across heads: one query and one key, as wide as all are
/// together. kBackward: gradients of queries and keys, in place.
struct HeadNorm {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0, key_dim = 0, value_width = 0;
  DType dtype = DType::kBf16;
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t key_width() const { return kv_heads * key_dim; }
  std::int64_t normed_width() const { return query_width() + key_width(); }
};
/// What is normalised as rows of their own, of one width in the mean.
inline Norm norm_of_heads(const HeadNorm& h) {
  const std::int64_t vectors = h.heads + h.kv_heads;
  const std::int64_t width = vectors == 0 ? 0 : h.normed_width() / vectors;
  return {h.pass, NormKind::kRmsNorm, h.rows * vectors, width, h.dtype};
}

/// y[rows, width] = f(x); gated: y = f(gate) * up with x[rows, 2 width]. `weighted`: times a number
/// for each row, the gate of the token in an expert's slot; backward its gradient too.
struct Activation {
  Pass pass = Pass::kForward;
  ActivationKind kind = ActivationKind::kSilu;
  bool gated = true;
  std::int64_t rows = 0, width = 0;
  DType dtype = DType::kBf16;
  bool weighted = false;
};

/// out[rows, width] = x sigmoid(g), with g of as many columns (attention's gate), or `per_row` of
/// one (that of shared experts). kBackward: dx and dg.
struct Gate {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0;
  bool per_row = false;
  DType dtype = DType::kBf16;
};

/// Rotates query and key parts of rows of a packed projection, or of queries and keys apart (latent
/// attention); `width` counts the rotated columns. `promoted`: sines and cosines are in fp32, where
/// rows are in fewer bits, so that products with them are, and are cast back.
struct Rope {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0;
  DType dtype = DType::kBf16;
  bool promoted = false;
};

/// The packed rows [q | k | v] of multi-head latent attention, put together from queries q[rows,
/// heads, head_dim], what the latent of keys and values was projected to, kv[rows, heads, head_dim
/// - rope_dim | value_dim], and the last rope_dim columns of all heads' keys, rotary[rows,
/// rope_dim]. kBackward: the gradients of the three; that of what all heads share is the sum over
/// them.
struct LatentHeads {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, heads = 0, head_dim = 0, value_dim = 0, rope_dim = 0;
  DType dtype = DType::kBf16;
};

/// Row gather from a (vocab_local, width) table, optionally adding a learned position row; backward
/// scatters with accumulation into the gradient table, which has the sum of earlier microbatches or
/// (accumulate false) zeros of the same pass. Token types: positions of one text, `run` of them,
/// share a row.
struct Embedding {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0, vocab = 0;
  bool learned_positions = false;
  DType dtype = DType::kBf16, grad_dtype = DType::kFp32;
  std::int64_t run = 1;
  bool accumulate = true;
};

/// Vocabulary-parallel cross-entropy in the four steps between which the partial results of the
/// ranks are reduced: row maxima (rows); sums of exponentials and target logits (rows, 2); the loss
/// (a scalar, mean over tokens); and backward, dlogits = softmax - onehot, in place of the logits.
/// `weight`: of this loss, and so of dlogits, in the sum that the model is trained for. `split`: a
/// rank has some of the vocabulary, so that no kernel does more than a step.
struct CrossEntropy {
  enum class Step : std::uint8_t { kRowMax, kSums, kLoss, kGradient };
  Step step = Step::kRowMax;
  std::int64_t rows = 0, vocab = 0;
  DType dtype = DType::kBf16;
  double weight = 1;
  bool split = false;
};

/// Chooses k experts for each token of `groups` sequences of `tokens`: gates are the softmax over
/// the k largest logits (ties: the lowest expert). Each expert has `capacity` slots, which are
/// dealt to the groups as evenly as they go and which a group's tokens take in their order; a token
/// beyond them is dropped by that expert (Fedus et al. 2022, arXiv 2101.03961, section 2.2; grouped
/// as in GShard, arXiv 2006.16668, section 2.2). Writes gates (tokens, groups, k) and the slots
/// taken. kBackward: logits' gradients.
struct Route {
  Pass pass = Pass::kForward;
  std::int64_t tokens = 0, groups = 0, experts = 0, chosen = 0, capacity = 0;
  DType dtype = DType::kBf16;
  std::int64_t rows() const { return tokens * groups; }
};

/// Copies each of `rows` tokens into the slots that it takes of `slots`, (experts, capacity,
/// width); other slots become zero. kBackward: a token's gradient is the sum over its
/// slots. `gates`: of a token's numbers, one for each choice, each goes to the slot of its choice.
/// `senders`: tokens are those of so many ranks, one behind the other, and take slots of all
/// experts; filled are those of this rank's experts, by expert and sender, and which ones these are
/// is written too.
struct Dispatch {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0, chosen = 0, slots = 0;
  DType dtype = DType::kBf16;
  bool gates = false;
  std::int64_t senders = 0;  // 0: all tokens and all slots are of one table
};

/// out[token] = sum over its slots of gate x slot. kBackward: gradients of slots and of gates.
/// Without gates, which experts' activations have had, the sums alone.
struct Combine {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0, chosen = 0, slots = 0;
  DType dtype = DType::kBf16;
  bool weighted = true;
};

/// out = a + b (+ bias[width]) (residual connections, gradient fan-in). With dropout, b is masked
/// and scaled first and a mask of one byte per element is written. kBackward: the masked gradient
/// of b.
///
/// `scaled`: what a low-rank adapter adds to its linear layer's result, out += scale b, on those of
/// out's columns that b has; kBackward: b's gradient, scale times those columns.
///
/// `alone`: no sum, out = dropout(b), of what an adapter reads, with a `probability` of its own
/// rather than the model's; kBackward as without.
///
/// `addend`: the type of b, where it is another than that of a and of the sum.
struct Add {
  Pass pass = Pass::kForward;
  std::int64_t rows = 0, width = 0;
  bool bias = false, dropout = false;
  DType dtype = DType::kBf16;
  bool scaled = false;
  double scale = 1;
  bool alone = false;
  double probability = 0;  // 0: the model's
  std::optional<DType> addend = {};
};

/// Column sums of dy[rows, width] into a bias gradient.
struct BiasGrad {
  std::int64_t rows = 0, width = 0;
  DType dtype = DType::kBf16, grad_dtype = DType::kFp32;
};

/// Element-wise conversion. To nvfp4: `copies` of it, one with blocks along rows and one along
/// columns; `rotated`: the second one of elements that a Hadamard transform has mixed, 16 by 16. To
/// fp8: one and, beside it, its transpose, or, `scaled` by magnitudes that are known, or where
/// nobody reads the transpose, itself `alone`; to nvfp4 `scaled` too. From fp8 to fp8: its
/// transpose. From nf4: of codes, times the scale of their block; where scales are `nested`, stored
/// in 8 bits, those are restored first. Between like types a copy, of so many `chunks` into another
/// order where it is more than 1. By torch.autocast: of what products read, each for itself where
/// `packed` ones are run apart, and of their gradients, which are added up behind that;
/// `accumulate`: added to what is there, by a kernel behind.
struct Cast {
  std::int64_t elements = 0;
  DType from = DType::kFp32, to = DType::kBf16;
  std::int64_t copies = 1;
  bool rotated = false, scaled = false, alone = false, nested = false;
  std::int64_t chunks = 1;
  bool autocast = false, accumulate = false;
  PackedProjections packed = {};
};

/// Sets memory to zero (gradient buffers at the start of a step).
struct Fill {
  std::int64_t elements = 0;
  DType dtype = DType::kFp32;
};

/// Sum of squares of gradient buffers into a scalar: the local part of the global norm.
struct SquaredNorm {
  std::int64_t elements = 0;
  DType dtype = DType::kFp32;
};

/// The largest magnitude of each of the tensors that a flat buffer, or a share of it, is made of.
struct Amax {
  std::int64_t elements = 0;  // of all
  DType dtype = DType::kFp32;
};

/// Adam on `elements` parameters: reads gradient, master weight and both moments, writes master,
/// moments and, with mixed precision, the low-precision weight. The clip factor is applied here.
struct Adam {
  std::int64_t elements = 0;
  DType weight = DType::kBf16, grad = DType::kFp32, master = DType::kFp32, moments = DType::kFp32;
  bool split = false;  // the weight is the master's upper half, and is read too
};

using Compute = std::variant<MatMul, Attention, Norm, HeadNorm, Activation, Gate, Rope, LatentHeads,
                             CausalConv, Scan, DeltaRule, GatedNorm, Embedding, CrossEntropy, Route,
                             Dispatch, Combine, Add, BiasGrad, Cast, Fill, SquaredNorm, Amax, Adam>;

/// Floating-point operations that the algorithm needs (no recomputation inside fused kernels),
/// which is what MFU's numerator counts; see `hardware_flops` for what the device executes.
Flops flops(const Compute& op);
/// FLOPs that run: fused attention backward recomputes QK^T.
Flops hardware_flops(const Compute& op);
/// Least traffic to device memory: every operand once, each intermediate of an unfused kernel too.
Bytes memory_traffic(const Compute& op);
/// True for the ops that run on matrix units and are limited by their dense peak.
bool uses_matrix_units(const Compute& op);
/// Element type that selects the peak FLOP/s.
DType compute_dtype(const Compute& op);
/// "matmul", "attention", "norm", ...: the fixed vocabulary of reports and traces.
std::string_view kernel_name(const Compute& op);
Pass pass_of(const Compute& op);

}  // namespace plait
