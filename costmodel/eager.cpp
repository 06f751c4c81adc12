#include "costmodel/eager.h"

#include <algorithm>

#include "costmodel/autocast_chains.h"
#include "costmodel/casts.h"
#include "costmodel/efficiency.h"
#include "costmodel/expert_chains.h"
#include "costmodel/single_loss.h"

namespace plait {
namespace {

/// Elements per clock and multiprocessor of PyTorch's element-wise kernels where it cannot take
/// several at a time (aten/src/ATen/native/cuda/CUDALoops.cuh): operands are broadcast or no rows
/// one behind the other, so that the place of each element is worked out, or are cast to another
/// type in passing. PyTorch 2.11 on an H200: 294e9 elements a second in the kernels of a LLaMA of 3
/// billion parameters (sums of bf16 and fp32 255e9, products and sums 258 to 310e9, one operand 327
/// to 350e9), 270e9 and 345e9 in those of two GPTs (reports/gpu/h200).
constexpr double kIndexedPerClock = 1.1;

/// Bytes per element and kernels of a chain, for elements of `size` bytes in memory and 4 where the
/// chain works in fp32; `indexed` passes over them are of elements taken one at a time, and move
/// `indexed_bytes`.
struct PerElement {
  double bytes;
  int kernels;
  double indexed = 0;
  double indexed_bytes = 0;
};

// RMSNorm as model code spells it: x.float(); pow(2); mean; rsqrt; multiply; back to 16 bits; times
// gamma. Reads and writes: s+4, 8, 4, -, 8, 4+s, 2s. Backward: gamma's product (g, xhat -> two
// results, one summed: 5s), the cast (s+4), the product with 1/rms (8) and the row sum of g x
// (8+4+4), the power (4+8), the fan-in (12), the cast (4+s), and gamma's gradient in fp32 (8).
// Of a frozen gamma: its product (2s), and no gradient of it. One at a time: the cast to fp32 and
// the products with 1/rms and gamma, which are broadcast; backward these, gamma's product first,
// and the power, whose gradient is.
PerElement norm_chain(Pass pass, double s) {
  if (is_forward(pass)) return {4 * s + 28, 7, 3, 3 * s + 12};
  if (pass == Pass::kInputGrad) return {4 * s + 56, 11, 4, 3 * s + 24};
  return {7 * s + 64, 13, 4, 3 * s + 24};
}

// PyTorch's own norms, layer_norm and since 2.9 rms_norm: one kernel, and backward one for the
// input (3s) and one for gamma and beta, which reads both again (2s).
PerElement native_norm_chain(Pass pass, double s) {
  if (is_forward(pass)) return {2 * s, 1};
  if (pass == Pass::kInputGrad) return {3 * s, 1};
  return {5 * s, 2};
}

// x cos + rotate_half(x) sin: two products, a negated half, a concatenation, a sum; backward has
// two products, two padded slices, the negation and the fan-in. Of queries and of keys. Heads lie
// side by side, and cos and sin are broadcast over them: all but backward's zeros, one at a time.
PerElement rope_chain(Pass pass, double s) {
  if (is_forward(pass)) return {10 * s, 2 * 5, 4.5, 10 * s};
  return {13 * s, 2 * 7, 4.5, 10 * s};
}
// Pairs as complex numbers: a cast to fp32, a product with the broadcast turns of half as many
// elements, the cast back; backward alike.
PerElement complex_rope_chain(double s) { return {2 * s + 16, 2 * 3, 1.5, s + 12}; }

// act(gate) * up: two kernels; backward: two products, the derivative, the concatenation of both
// gradients. Per element of the output. Halves of one product are no rows one behind the other:
// both kernels, and backward the product with up and the derivative, take one element at a time.
PerElement gated_chain(Pass pass, double s, bool halves) {
  const double passes = halves ? 2 : 0;
  if (is_forward(pass)) return {5 * s, 2, passes, passes / 2 * 5 * s};
  return {13 * s, 4, passes, passes / 2 * 6 * s};
}

// Gate and up cut off by clamp, and concatenated again (Megatron-LM
// megatron/core/fusions/fused_bias_geglu.py, weighted_bias_quick_geglu_impl with clamp_value): both
// halves read and written twice. Backward of up: two comparisons (s read, a byte written, each),
// both of them (3), the choice (1 + s read, s written); of gate: one comparison and the choice; the
// halves' gradients concatenated. Per element of the activation's output. Halves and bytes are
// taken one element at a time: both cuts; comparisons and choices.
PerElement clamp_chain(Pass pass, double s) {
  if (is_forward(pass)) return {8 * s, 3, 2, 4 * s};
  return {11 * s + 8, 7, 5, 7 * s + 5};
}

// float(); log_softmax; negative log-likelihood forward (s+4, 16, -), and backward its scatter (4),
// log_softmax's (16) and the cast (4+s). log_softmax reads a row three times, for its largest
// value, the sum and the result, and backward the gradient twice, once for its sum (aten
// SoftMax.cu, rows beyond 48 KiB). Our four steps carry them: where logits are wide, both casts are
// ops of their own, and the first step is the first time that a row is read.
PerElement cross_entropy_chain(CrossEntropy::Step step, DType dtype, double s) {
  const bool wide = dtype == DType::kFp32;
  switch (step) {
    case CrossEntropy::Step::kRowMax: return wide ? PerElement{} : PerElement{s + 4, 1, 1, s + 4};
    case CrossEntropy::Step::kSums: return {wide ? 12.0 : 16.0, 1};
    case CrossEntropy::Step::kLoss: return {};
    case CrossEntropy::Step::kGradient: return wide ? PerElement{20, 2} : PerElement{24 + s, 3};
  }
  return {};
}

// Megatron-LM megatron/core/tensor_parallel/cross_entropy.py: the largest of each row (the first
// step), its subtraction (8), exp (8), sum (4) and the division by it (8); backward the softmax
// times the gradient of the loss (8). What is broadcast to a row takes one element at a time. Casts
// as above.
PerElement parallel_cross_entropy_chain(CrossEntropy::Step step, DType dtype, double s) {
  const bool wide = dtype == DType::kFp32;
  switch (step) {
    case CrossEntropy::Step::kRowMax: return wide ? PerElement{} : PerElement{s + 8, 2, 1, s + 4};
    case CrossEntropy::Step::kSums: return {28, 4, 2, 16};
    case CrossEntropy::Step::kLoss: return {};
    case CrossEntropy::Step::kGradient:
      return wide ? PerElement{8, 1, 1, 8} : PerElement{12 + s, 2, 1, 8};
  }
  return {};
}

KernelChain chain(PerElement p, std::int64_t rows, std::int64_t width) {
  const double elements = static_cast<double>(rows) * static_cast<double>(width);
  const auto bytes = [&](double each) { return Bytes(static_cast<std::int64_t>(each * elements)); };
  KernelChain out{bytes(p.bytes), p.kernels};
  out.indexed = p.indexed * elements;
  out.indexed_bytes = bytes(p.indexed_bytes);
  return out;
}

double size(DType dtype) { return static_cast<double>(size_of(dtype)); }

/// bitsandbytes (functional.py, dequantize_4bit): one kernel, and nested scales take two before it,
/// one that restores them and one that adds their mean in place.
KernelChain restored(const Cast& op) {
  if (!op.nested) return {};
  const std::int64_t scales = ceil_div(op.elements, kNf4Block);
  return {memory_traffic(op) + Bytes(2 * scales * size_of(DType::kFp32)), 3};
}

// torch.nn.utils.clip_grad_norm_ multiplies by the factor, clamped to 1, after the norm: read;
// read and written.
KernelChain clip_chain(const SquaredNorm& op) {
  const Bytes bytes(3 * op.elements * size_of(op.dtype));
  return {.bytes = bytes, .kernels = 2, .kind = StreamKind::kTensorList};
}

// torch.optim.AdamW(fused=True), and where weights are narrower than what it updates a copy that
// reads that again. Gradients narrower than that are copied to its type before, which it then
// reads, and those of fp16 are divided by the loss scale there (Megatron-LM,
// megatron/optimizer/optimizer.py: _copy_model_grads_to_main_grads,
// _unscale_main_grads_and_check_for_nan).
KernelChain adam_chain(const Adam& op) {
  const bool copied = op.weight != op.master && !op.split;
  const bool widened = size_of(op.grad) < size_of(op.master) && !op.split;
  const bool unscaled = widened && op.grad == DType::kFp16;
  const std::int64_t again =
      size_of(op.master) * ((copied ? 1 : 0) + (widened ? 2 : 0) + (unscaled ? 2 : 0));
  return {.bytes = memory_traffic(op) + Bytes(op.elements * again),
          .kernels = 1 + (copied ? 1 : 0) + (widened ? 1 : 0) + (unscaled ? 1 : 0),
          .kind = StreamKind::kTensorList};
}

// torch.nn.functional.dropout (aten/src/ATen/native/cuda/Dropout.cu): a byte of mask for each
// element; then the sum. The bias is the product's. Drawing whether an element stays limits the
// first: 0.56e12 a second on an H200, 0.48e12 on an H100 (reports/gpu/*/torch-rows.json),
// here 4.2e9 on each multiprocessor.
KernelChain dropped_chain(const Add& op) {
  constexpr double kDrawn = 4.2e9;
  const std::int64_t s = size_of(op.dtype), elements = op.rows * op.width;
  const Bytes dropped((2 * s + 1) * elements), added(op.alone ? 0 : 3 * s * elements);
  return {.bytes = dropped + added,
          .kernels = op.alone ? 1 : 2,
          .pieces = static_cast<double>(elements),
          .pieces_per_multiprocessor = kDrawn,
          .piece_bytes = dropped};
}

struct Chains {
  const Kernels& kernels;

  KernelChain operator()(const Norm& op) const {
    if (kernels.norm == Fusion::kFused) return {};
    const double s = size(op.dtype);
    if (spelled_out(op, kernels)) {
      if (op.dtype == DType::kFp32) return fp32_norm_chain(op);
      return chain(norm_chain(op.pass, s), op.rows, op.width);
    }
    KernelChain native = chain(native_norm_chain(op.pass, s), op.rows, op.width);
    native.kind = StreamKind::kNorm;
    native.calls = 1;
    return native;
  }
  /// Queries and keys.
  KernelChain operator()(const HeadNorm& op) const {
    KernelChain of_heads = (*this)(norm_of_heads(op));
    of_heads.kernels *= 2, of_heads.calls *= 2;
    return of_heads;
  }
  KernelChain operator()(const Rope& op) const {
    if (kernels.rope == Fusion::kFused || op.pass == Pass::kWeightGrad) return {};
    const double s = size(op.dtype);
    if (kernels.rope == Fusion::kComplex) return chain(complex_rope_chain(s), op.rows, op.width);
    return promotes(op) ? promoted_rope_chain(op)
                        : chain(rope_chain(op.pass, s), op.rows, op.width);
  }
  KernelChain operator()(const Activation& op) const {
    if (kernels.activation == Fusion::kFused || !op.gated || op.pass == Pass::kWeightGrad)
      return {};
    const bool halves = kernels.activation == Fusion::kEager && kernels.gate == Fusion::kFused;
    return chain(gated_chain(op.pass, size(op.dtype), halves), op.rows, op.width);
  }
  /// PEFT's result + lora_B(lora_A(x)) * scaling: the product reads and writes b's columns, the sum
  /// reads both and writes. Backward the product alone.
  KernelChain operator()(const Add& op) const {
    if (op.dropout && is_forward(op.pass) && kernels.dropout != Fusion::kFused)
      return dropped_chain(op);
    if (op.addend) return mixed_sum({memory_traffic(op), 1}, op.rows * op.width);
    if (kernels.adapters == Fusion::kFused || !op.scaled) return {};
    const double s = size(op.dtype);
    return chain(is_forward(op.pass) ? PerElement{5 * s, 2} : PerElement{2 * s, 1}, op.rows,
                 op.width);
  }
  KernelChain operator()(const CrossEntropy& op) const {
    if (!is_in_parts(kernels.cross_entropy)) return {};
    const bool parallel = kernels.cross_entropy == Fusion::kParallel;
    const PerElement each = parallel
                                ? parallel_cross_entropy_chain(op.step, op.dtype, size(op.dtype))
                                : cross_entropy_chain(op.step, op.dtype, size(op.dtype));
    return chain(each, op.rows, op.vocab);
  }
  /// Logits that PyTorch widens for such a loss, one at a time.
  bool widens_logits(const Cast& op) const {
    return is_in_parts(kernels.cross_entropy) && size_of(op.from) == 2 && op.to == DType::kFp32;
  }
  /// Transformer Engine's Float8CurrentScaling: a kernel that reads all, then the cast.
  KernelChain operator()(const Cast& op) const {
    if (op.chunks > 1) return routing_chain(op, kernels);
    if (op.from == DType::kNf4 && op.to != op.from) return restored(op);
    if (op.autocast) return autocast_chain(op, kernels);
    if (widens_logits(op)) {
      return one_at_a_time({memory_traffic(op), 1}, op.elements);
    }
    if (kernels.amax != Fusion::kEager || !finds_scale(op)) return {};
    const Bytes looked_at(op.elements * size_of(op.from));
    return {.bytes = looked_at + memory_traffic(op), .kernels = 2, .calls = 1};
  }
  KernelChain operator()(const Route& op) const { return routing_chain(op, kernels); }
  KernelChain operator()(const Dispatch& op) const { return routing_chain(op, kernels); }
  KernelChain operator()(const Combine& op) const { return routing_chain(op, kernels); }
  KernelChain operator()(const SquaredNorm& op) const {
    return kernels.optimizer == Fusion::kFused ? KernelChain() : clip_chain(op);
  }
  KernelChain operator()(const Adam& op) const {
    return kernels.optimizer == Fusion::kFused ? KernelChain() : adam_chain(op);
  }
  template <class Other>
  KernelChain operator()(const Other&) const {
    return {};
  }
};

Seconds copy_time(Bytes bytes, const Device& device) {
  return bytes / (device.memory_bandwidth * stream_fit(device, StreamKind::kCopy).bandwidth);
}

/// What `work` takes beyond the time in which its bytes are copied.
Seconds beyond_copying(Seconds work, Bytes bytes, const Device& device) {
  return std::max(Seconds(), work - copy_time(bytes, device));
}

}  // namespace

KernelChain one_at_a_time(KernelChain chain, std::int64_t elements) {
  chain.indexed = static_cast<double>(elements);
  chain.indexed_bytes = chain.bytes;
  return chain;
}

bool spelled_out(const Norm& op, const Kernels& kernels) {
  return kernels.norm == Fusion::kEager && op.kind == NormKind::kRmsNorm;
}

bool is_native(const Norm& op, const Kernels& kernels) {
  return kernels.norm != Fusion::kFused && !spelled_out(op, kernels);
}

Seconds piece_wait(const KernelChain& chain, const Device& device) {
  if (chain.pieces == 0 || device.sms == 0) return {};
  const double rate = chain.pieces_per_multiprocessor * static_cast<double>(device.sms);
  return beyond_copying(Seconds(chain.pieces / rate), chain.piece_bytes, device);
}

Seconds index_wait(const KernelChain& chain, const Device& device) {
  if (chain.indexed == 0 || device.sms == 0) return {};
  const double clocks = clock_of(device) * device.sms;
  return beyond_copying(Seconds(chain.indexed / (kIndexedPerClock * clocks)), chain.indexed_bytes,
                        device);
}

Seconds indexed_copy(const KernelChain& chain, const Device& device) {
  return copy_time(chain.indexed_bytes, device);
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
  const std::int64_t passes = is_forward(op.pass) ? gathered * inputs + scattered * results
                                                  : gathered * results + scattered * inputs;
  return {Bytes(passes * size_of(op.dtype)), is_forward(op.pass) ? 3 + 2 : 1 + 3 * 2};
}

// Forward reads the heads that there are and writes those that attention wants (expand, reshape);
// backward the other way round, and adds up. Keys, and values.
KernelChain shared_keys_chain(const Attention& op, const Kernels& kernels) {
  const bool shares = op.fused && !op.latents && op.kv_heads < op.heads;
  if (kernels.shared_keys == Fusion::kFused || !shares) return {};
  const std::int64_t columns = op.batch * op.seq_kv * (op.head_dim + op.v_dim());
  const KernelChain copies{Bytes((op.kv_heads + op.heads) * columns * size_of(op.dtype)), 2};
  return is_forward(op.pass) ? one_at_a_time(copies, op.heads * columns) : copies;  // broadcast
}

// PyTorch torch/distributed/tensor/experimental/_attention.py (2.6), _SDPAMerger and
// _templated_ring_attention_backward with convert_to_f32, on the rank that merges whole blocks of
// queries. Bytes for each element q of the result and kv of the block's keys and values, of e
// bytes. Forward, first block: casts to fp32 and, at the end, back; each other one: the cast, out -
// (sigmoid(l' - l) (out - out')), and keys and values in one buffer. Backward, first block: sums of
// zeros, to which gradients are added, those of keys in one buffer, and casts at the end; each
// other one: the same sums, half of those of keys, which are put together with the rest.
KernelChain merge_chain(const Attention& op, const Kernels& kernels) {
  if (kernels.merge == Fusion::kFused || op.ring_step < 0) return {};
  const double q = static_cast<double>(op.batch * op.heads * op.seq_q * op.v_dim());
  const double kv = static_cast<double>(op.batch * op.kv_heads * op.seq_kv) *
                    static_cast<double>(op.head_dim + op.v_dim());
  const double e = size(op.dtype), cast = 4 + e, sum = 8 + e, fp32_sum = 12, broadcast = 8;
  const double zeros = 4, joined = 8;  // fp32, written, and read and written
  const auto with = [](double bytes, int count, double indexed, double indexed_bytes) {
    const auto whole = [](double b) { return Bytes(static_cast<std::int64_t>(b)); };
    KernelChain out{whole(bytes), count};
    out.indexed = indexed, out.indexed_bytes = whole(indexed_bytes);
    return out;
  };
  const bool first = op.ring_step == 0;
  if (is_forward(op.pass) && first) return with(2 * cast * q, 2, 2 * q, 2 * cast * q);
  if (is_forward(op.pass)) {
    const double merged = cast + 2 * fp32_sum + broadcast;
    return with(merged * q + 2 * e * kv, 9, 2 * q, (cast + broadcast) * q);
  }
  if (first) {
    const double mixed = (sum + cast) * (q + kv);  // two types at a time
    return with(zeros * (q + kv) + joined * kv + mixed, 9, 2 * (q + kv), mixed);
  }
  const double mixed = sum * (q + kv / 2);
  return with(mixed + (joined + joined + 2 * e) * kv, 7, q + kv / 2, mixed);
}

KernelChain clamp_of(const Activation& op, const Kernels& kernels) {
  if (kernels.clamp == Fusion::kFused || !op.gated || op.pass == Pass::kWeightGrad) return {};
  return chain(clamp_chain(op.pass, size(op.dtype)), op.rows, op.width);
}

// Megatron-LM megatron/core/transformer/moe/experts.py, TEGroupedMLP._apply_bias: cat([t + b p])
// and the cast back, where the gates p are fp32. Bytes for each element: b p (4 written), the sum
// (s + 4 read, 4 written), concatenation (8), cast (4 + s). Backward: its cast (s + 4), the cast of
// the product's gradient (4 + s), pieces to one tensor (2 s), and for b and for p a product of the
// gradient (8) and its sum (4). One element at a time: b p, broadcast, and the sum of two types;
// backward the cast to fp32 and both products. What is of each expert the host issues beside the
// experts' products (launches.cpp): here two calls of all.
KernelChain expert_bias_chain(const Combine& op, const Kernels& kernels) {
  if (kernels.expert_bias == Fusion::kFused) return {};
  const double s = size(op.dtype);
  const PerElement each = is_forward(op.pass) ? PerElement{24 + 2 * s, 4, 2, 12 + s}
                                              : PerElement{32 + 4 * s, 7, 3, 20 + s};
  KernelChain out = chain(each, op.slots, op.width);
  out.calls = 2;
  return out;
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
