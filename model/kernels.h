#pragma once
// How a framework runs the ops of a transformer: as one kernel each, or as the chain of elementary
// kernels that its Python code spells out ("eager"), each of which reads and writes memory.

#include <cstdint>

#include "model/op.h"

namespace plait {

/// kFunction: the kernels of kEager, called by one function of autograd's, which keeps its input
/// alone. kComplex: of rotary embeddings, pairs as complex numbers in fp32. kNative: of norms,
/// PyTorch's own kernels. kParallel: of the loss, Megatron-LM's over a vocabulary that may be
/// split. kSingle: of the loss over a whole vocabulary, one kernel for the forward and the backward
/// pass, which reads each row of logits once and puts their gradients in their place. kBlocks: of
/// scales of 8-bit products, one for each block of 128 or 32 elements along k.
enum class Fusion : std::uint8_t {
  kFused,
  kEager,
  kFunction,
  kComplex,
  kNative,
  kParallel,
  kSingle,
  kBlocks
};

/// Scale, mask and softmax of unfused attention: one kernel; PyTorch's, with the mask by one of its
/// own; Megatron-LM's, which does not read what the causal mask hides, and leaves some numbers of
/// heads to PyTorch; OneFlow's, which drops in the same kernel.
enum class SoftmaxKernel : std::uint8_t { kFused, kEager, kMegatron, kOneFlow };

/// What Megatron-LM's has code for: rows of more than 16 and up to 4,096 scores (2,048 until 2022),
/// in fours of queries and of sequences times heads, one for each of a block's four warps
/// (custom_kernel_constraint in megatron/model/fused_softmax.py of 2021).
constexpr bool is_for_megatron_softmax(const Attention& a) {
  return a.seq_kv > 16 && a.seq_kv <= 4096 && a.seq_q % 4 == 0 && a.batch * a.heads % 4 == 0;
}

/// Its major release, and CUDA's.
enum class Cublas : std::uint8_t { k12, k13 };

/// The all_to_all of tokens to experts and back: NCCL's, or DeepEP's kernels, which send a token to
/// a rank, and to a node, once.
enum class Dispatcher : std::uint8_t { kNccl, kDeepEp };

struct Kernels {
  FlashKernel attention = FlashKernel::kNewest;   // where attention is fused
  SoftmaxKernel softmax = SoftmaxKernel::kFused;  // where attention is not fused
  /// Eager: queries, keys, values and results of fused attention are copied to and from rows
  /// without padding (flash-attn's unpad_input and pad_input).
  Fusion packing = Fusion::kFused;
  /// Eager: keys and values that several query heads share are written once for each of these
  /// before fused attention, and their gradients added up behind it.
  Fusion shared_keys = Fusion::kFused;
  /// Of a ring's blocks, what attention gives and its gradients: by a kernel behind each, or
  /// ("eager") summed up in fp32, kernel by kernel, as PyTorch's context_parallel does.
  Fusion merge = Fusion::kFused;
  /// Of one input: one product of a packed matrix, or ("eager") one for each projection, whose
  /// input gradients are added up behind them.
  Fusion qkv = Fusion::kFused;   // queries, keys and values
  Fusion gate = Fusion::kFused;  // gate and up
  /// Eager: with tensor parallelism each such projection has an all_reduce of its own for the
  /// gradient of the input that they share.
  Fusion input_sums = Fusion::kFused;
  /// Of a linear layer's bias the gradient: by the product that makes the weight's, or by a kernel
  /// of its own, as autograd does.
  Fusion bias = Fusion::kFused;
  /// With the sum behind it, or a kernel of its own before that.
  Fusion dropout = Fusion::kFused;
  Fusion norm = Fusion::kFused;
  Fusion rope = Fusion::kFused;
  Fusion activation = Fusion::kFused;
  /// Eager: gate and up are cut off at a largest value by kernels of their own, before a gated
  /// activation. Fused: they are not cut off, or the activation does it.
  Fusion clamp = Fusion::kFused;
  /// What a low-rank adapter adds, alpha / r B A x: by a product with the factor and a sum, as PEFT
  /// and Megatron-Bridge write it (eager), or by one kernel. Of backward the product alone is left.
  Fusion adapters = Fusion::kEager;
  Fusion cross_entropy = Fusion::kFused;
  /// Of a weight's gradients over the microbatches: by the product that makes them, or by a kernel
  /// behind it, as autograd does.
  Fusion gradient_sum = Fusion::kFused;
  /// Of a table that tokens look up, a microbatch's gradient: its rows are added to the sum, or
  /// ("eager") to a table of zeros, which then is added to the sum whole, as autograd does.
  Fusion table_gradient = Fusion::kFused;
  /// Eager: a sequence that tensor parallelism gathers or scatters is not the outermost dimension,
  /// so that the whole is copied behind the one and before the other.
  Fusion sequence = Fusion::kFused;
  /// Of casts to 8 bits: the largest value, which the scale follows from, is known from earlier
  /// steps, or looked for by a kernel before ("eager"), or, of each block, by the cast.
  Fusion amax = Fusion::kFused;
  Cublas cublas = Cublas::k13;
  /// Eager: kernels over lists of tensors, as PyTorch has them. Gradients are multiplied by the
  /// clip factor in one of their own, and 16-bit weights are copied from the fp32 ones behind the
  /// update.
  Fusion optimizer = Fusion::kFused;
  Fusion routing = Fusion::kFused;  // choice of experts, and tokens to and from their slots
  /// Eager: a product of several experts is one of each expert, run and issued one after the other.
  Fusion experts = Fusion::kFused;
  /// Eager: the experts' second products have biases, which are added expert by expert, times the
  /// gates, in fp32. Fused: they have none, or the product adds them.
  Fusion expert_bias = Fusion::kFused;
  /// Eager: the rows of each expert's tokens are copied to a multiple of what 8-bit products want,
  /// and what the experts return is copied back. Fused: what moves tokens leaves the gaps.
  Fusion expert_padding = Fusion::kFused;
  Dispatcher exchange = Dispatcher::kNccl;
};

}  // namespace plait
