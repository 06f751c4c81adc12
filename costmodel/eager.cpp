#include "costmodel/eager.h"

#include <algorithm>

#include "costmodel/efficiency.h"

namespace plait {
namespace {

/// Elements that a multiprocessor adds to rows in no order, each by an atomic operation, per
/// second: PyTorch's index_add_ takes 4,719 us for 4 Mi rows of 128 bf16 on H100 and 4,400 for fp32
/// (pytorch/pytorch pull request 175760, before it), so it is no matter of bytes. scatter_add_, the
/// product with the gates and the zeros before it take 0.20 ms for 4,096 rows of 4,096 on H200
/// (tile-ai/TileOPs pull request 608), 0.17 by this.
constexpr double kAtomicAddsPerMultiprocessor = 4.0 * (1 << 20) * 128 / 4719e-6 / 132;

/// Bytes per element and kernels of a chain, for elements of `size` bytes in memory and 4 where the
/// chain works in fp32.
struct PerElement {
  double bytes;
  int kernels;
};

bool forward(Pass pass) { return pass == Pass::kForward; }

// RMSNorm as model code spells it: x.float(); pow(2); mean; rsqrt; multiply; back to 16 bits; times
// gamma. Reads and writes: s+4, 8, 4, -, 8, 4+s, 2s. Backward: gamma's product (g, xhat -> two
// results, one summed: 5s), the cast (s+4), the product with 1/rms (8) and the row sum of g x
// (8+4+4), the power (4+8), the fan-in (12), the cast (4+s), and gamma's gradient in fp32 (8).
// LayerNorm is one kernel even in eager frameworks. Of a frozen gamma: its product (2s), and no
// gradient of it.
PerElement norm_chain(Pass pass, double s) {
  if (forward(pass)) return {4 * s + 28, 7};
  if (pass == Pass::kInputGrad) return {4 * s + 56, 11};
  return {7 * s + 64, 13};
}

// x cos + rotate_half(x) sin: two products, a negated half, a concatenation, a sum; backward has
// two products, two padded slices, the negation and the fan-in.
PerElement rope_chain(Pass pass, double s) {
  if (forward(pass)) return {10 * s, 5};
  return {13 * s, 7};
}

// act(gate) * up: two kernels; backward: two products, the derivative, the concatenation of both
// gradients. Per element of the output.
PerElement gated_chain(Pass pass, double s) {
  if (forward(pass)) return {5 * s, 2};
  return {13 * s, 4};
}

// Gate and up cut off by clamp, and concatenated again (Megatron-LM
// megatron/core/fusions/fused_bias_geglu.py, weighted_bias_quick_geglu_impl with clamp_value): both
// halves read and written twice. Backward of up: two comparisons (s read, a byte written, each),
// both of them (3), the choice (1 + s read, s written); of gate: one comparison and the choice; the
// halves' gradients concatenated. Per element of the activation's output.
PerElement clamp_chain(Pass pass, double s) {
  if (forward(pass)) return {8 * s, 3};
  return {11 * s + 8, 7};
}

// float(); log_softmax; negative log-likelihood forward (s+4, 8, -), and backward its scatter (4),
// log_softmax's (12) and the cast (4+s). The first and the last of our four steps carry them.
PerElement cross_entropy_chain(CrossEntropy::Step step, double s) {
  switch (step) {
    case CrossEntropy::Step::kRowMax: return {s + 4, 1};
    case CrossEntropy::Step::kSums: return {8, 1};
    case CrossEntropy::Step::kLoss: return {};
    case CrossEntropy::Step::kGradient: return {20 + s, 3};
  }
  return {};
}

KernelChain chain(PerElement p, std::int64_t rows, std::int64_t width) {
  const double elements = static_cast<double>(rows) * static_cast<double>(width);
  return {Bytes(static_cast<std::int64_t>(p.bytes * elements)), p.kernels};
}

double size(DType dtype) { return static_cast<double>(size_of(dtype)); }

/// So many passes over the rows of the tokens and over those of the slots.
KernelChain slot_chain(int token_passes, int slot_passes, int count, std::int64_t rows,
                       std::int64_t slots, std::int64_t width, DType dtype) {
  const std::int64_t passes = token_passes * rows + slot_passes * slots;
  return {Bytes(passes * width * size_of(dtype)), count};
}

/// Behind `chain` the slots' rows are added up to those of their tokens: read, and the sum read and
/// written.
template <class SlotOp>
KernelChain summed(const SlotOp& op, const KernelChain& chain) {
  const std::int64_t elements = op.slots * op.width;
  const Bytes added(3 * elements * size_of(op.dtype));
  return {chain.bytes + added, chain.kernels + 1, elements, added};
}

/// bitsandbytes (functional.py, dequantize_4bit): one kernel, and nested scales take two before it,
/// one that restores them and one that adds their mean in place.
KernelChain restored(const Cast& op) {
  if (!op.nested) return {};
  const std::int64_t scales = ceil_div(op.elements, kNf4Block);
  return {memory_traffic(op) + Bytes(2 * scales * size_of(DType::kFp32)), 3};
}

struct Chains {
  const Kernels& kernels;

  KernelChain operator()(const Norm& op) const {
    if (kernels.norm == Fusion::kFused || op.kind != NormKind::kRmsNorm) return {};
    return chain(norm_chain(op.pass, size(op.dtype)), op.rows, op.width);
  }
  /// Queries and keys.
  KernelChain operator()(const HeadNorm& op) const {
    KernelChain of_heads = (*this)(norm_of_heads(op));
    of_heads.kernels *= 2;
    return of_heads;
  }
  KernelChain operator()(const Rope& op) const {
    if (kernels.rope == Fusion::kFused || op.pass == Pass::kWeightGrad) return {};
    return chain(rope_chain(op.pass, size(op.dtype)), op.rows, op.width);
  }
  KernelChain operator()(const Activation& op) const {
    if (kernels.activation == Fusion::kFused || !op.gated || op.pass == Pass::kWeightGrad)
      return {};
    return chain(gated_chain(op.pass, size(op.dtype)), op.rows, op.width);
  }
  /// PEFT's result + lora_B(lora_A(x)) * scaling: the product reads and writes b's columns, the sum
  /// reads both and writes. Backward the product alone.
  KernelChain operator()(const Add& op) const {
    if (kernels.adapters == Fusion::kFused || !op.scaled) return {};
    const double s = size(op.dtype);
    return chain(forward(op.pass) ? PerElement{5 * s, 2} : PerElement{2 * s, 1}, op.rows, op.width);
  }
  KernelChain operator()(const CrossEntropy& op) const {
    if (kernels.cross_entropy == Fusion::kFused) return {};
    return chain(cross_entropy_chain(op.step, size(op.dtype)), op.rows, op.vocab);
  }
  /// Transformer Engine's Float8CurrentScaling: a kernel that reads all, then the cast.
  KernelChain operator()(const Cast& op) const {
    if (op.from == DType::kNf4 && op.to != op.from) return restored(op);
    const bool looks_first = op.to == DType::kFp8 && op.from != DType::kFp8 && !op.scaled;
    if (kernels.amax == Fusion::kFused || !looks_first) return {};
    const Bytes looked_at(op.elements * size_of(op.from));
    return {looked_at + memory_traffic(op), 2};
  }
  /// A row of its token is read for each slot; backward adds up into zeros.
  KernelChain operator()(const Dispatch& op) const {
    if (kernels.routing == Fusion::kFused) return {};
    if (forward(op.pass)) return slot_chain(0, 2, 1, op.rows, op.slots, op.width, op.dtype);
    return summed(op, slot_chain(1, 0, 1, op.rows, op.slots, op.width, op.dtype));
  }
  /// Forward: slots times gates (2); zeros, to which they are added (3). Backward: the gradient's
  /// rows by slot (2), times gates (2), times the slots (3), and the sums of those rows (1).
  KernelChain operator()(const Combine& op) const {
    if (kernels.routing == Fusion::kFused) return {};
    if (!op.weighted) {  // sums into zeros; rows by slot
      return forward(op.pass)
                 ? summed(op, slot_chain(1, 0, 1, op.rows, op.slots, op.width, op.dtype))
                 : slot_chain(0, 2, 1, op.rows, op.slots, op.width, op.dtype);
    }
    if (forward(op.pass))
      return summed(op, slot_chain(1, 2, 2, op.rows, op.slots, op.width, op.dtype));
    return slot_chain(0, 2 + 2 + 3 + 1, 4, op.rows, op.slots, op.width, op.dtype);
  }
  template <class Other>
  KernelChain operator()(const Other&) const {
    return {};
  }
};

}  // namespace

Seconds atomic_wait(const KernelChain& chain, const Device& device) {
  if (chain.atomic_adds == 0 || device.sms == 0) return {};
  const BytesPerSecond copies =
      device.memory_bandwidth * stream_fit(device, StreamKind::kCopy).bandwidth;
  const double rate = kAtomicAddsPerMultiprocessor * static_cast<double>(device.sms);
  const Seconds adds(static_cast<double>(chain.atomic_adds) / rate);
  return std::max(Seconds(), adds - chain.atomic_bytes / copies);
}

// Forward gathers rows of Q, K and V (s read, s written), and scatters the result into zeros (s, s,
// s). Backward gathers the result's gradient and scatters three.
KernelChain packing_chain(const Attention& op, const Kernels& kernels) {
  if (kernels.packing == Fusion::kFused || !op.fused) return {};
  const std::int64_t queries = op.batch * op.heads * op.seq_q;
  const std::int64_t keys = op.batch * op.kv_heads * op.seq_kv;
  const std::int64_t inputs = (queries + keys) * op.head_dim + keys * op.v_dim();
  const std::int64_t results = queries * op.v_dim();
  const std::int64_t gathered = 2, scattered = 3;  // passes over the rows
  const std::int64_t passes = forward(op.pass) ? gathered * inputs + scattered * results
                                               : gathered * results + scattered * inputs;
  return {Bytes(passes * size_of(op.dtype)), forward(op.pass) ? 3 + 2 : 1 + 3 * 2};
}

// Forward reads the heads that there are and writes those that attention wants (expand, reshape);
// backward the other way round, and adds up. Keys, and values.
KernelChain shared_keys_chain(const Attention& op, const Kernels& kernels) {
  const bool shares = op.fused && !op.latents && op.kv_heads < op.heads;
  if (kernels.shared_keys == Fusion::kFused || !shares) return {};
  const std::int64_t columns = op.batch * op.seq_kv * (op.head_dim + op.v_dim());
  return {Bytes((op.kv_heads + op.heads) * columns * size_of(op.dtype)), 2};
}

KernelChain clamp_of(const Activation& op, const Kernels& kernels) {
  if (kernels.clamp == Fusion::kFused || !op.gated || op.pass == Pass::kWeightGrad) return {};
  return chain(clamp_chain(op.pass, size(op.dtype)), op.rows, op.width);
}

// Megatron-LM megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias: cat([t + b p])
// and the cast back, where the gates p are fp32. Bytes for each element: b p (4 written), the sum
// (s + 4 read, 4 written), concatenation (8), cast (4 + s). Backward: its cast (s + 4), the cast of
// the product's gradient (4 + s), pieces to one tensor (2 s), and for b and for p a product of the
// gradient (8) and its sum (4).
KernelChain expert_bias_chain(const Combine& op, const Kernels& kernels) {
  if (kernels.expert_bias == Fusion::kFused) return {};
  const double s = size(op.dtype);
  if (forward(op.pass)) return chain({24 + 2 * s, 4}, op.slots, op.width);
  return chain({32 + 4 * s, 7}, op.slots, op.width);
}

// Transformer Engine's Fp8Padding and Fp8Unpadding (pytorch/module/fp8_padding.py), around the
// experts in Megatron-LM's TEGroupedMLP: every row read and written, and its gradient backward. The
// gates have one column.
KernelChain expert_padding_chain(const Compute& op, const Kernels& kernels) {
  if (kernels.expert_padding == Fusion::kFused) return {};
  if (const auto* to = std::get_if<Dispatch>(&op))
    return slot_chain(0, 2, 1, 0, to->slots, to->width, to->dtype);
  if (const auto* back = std::get_if<Combine>(&op))
    return slot_chain(0, 2, 1, 0, back->slots, back->width, back->dtype);
  return {};
}

DType written_alone(const MatMul& op) { return op.in == DType::kNvfp4 ? DType::kBf16 : op.in; }

// Reads what the product wrote, in the type of its operands, and reads and writes the sum.
KernelChain gradient_sum_chain(const MatMul& op, const Kernels& kernels) {
  const bool gradient = op.pass == Pass::kWeightGrad || op.pass == Pass::kBackward;
  if (kernels.gradient_sum == Fusion::kFused || !op.accumulate || !gradient) return {};
  const std::int64_t elements = op.batch * op.m * op.n;
  return {Bytes(elements * (size_of(written_alone(op)) + 2 * size_of(op.out))), 1};
}

// Of the whole sequence: torch.cat of what was gathered, or of what is to be scattered, by rank
// (torch/distributed/_functional_collectives.py, gather_dim and scatter_dim other than 0).
KernelChain sequence_chain(const Collective& op, const Kernels& kernels) {
  const bool moves =
      op.kind == CollectiveKind::kAllGather || op.kind == CollectiveKind::kReduceScatter;
  const bool over_tp = !op.axes.empty() && (op.axes - kTensorAxes).empty();
  if (kernels.sequence == Fusion::kFused || !moves || !over_tp) return {};
  return {Bytes(2 * op.bytes().value), 1};
}

KernelChain eager_chain(const Compute& op, const Kernels& kernels) {
  return std::visit(Chains{kernels}, op);
}

}  // namespace plait
