#include "scenarios/fields.h"

namespace plait {
namespace {

/// Ways to run an op: as one kernel, as those that its Python code spells out, and `other`.
Choice<Fusion> fused_eager_or(std::string_view name, Fusion other) {
  return {{{"fused", Fusion::kFused}, {"eager", Fusion::kEager}, {std::string(name), other}}};
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const Table<Kernels>& kernels_table() {
  using K = Kernels;
  const Choice<Fusion> choice{{{"fused", Fusion::kFused}, {"eager", Fusion::kEager}}};
  static const Table<K> table(
      "kernels",
      {
          field(
              "attention", &K::attention,
              Choice<FlashKernel>{{{"newest", FlashKernel::kNewest},
                                   {"flash1", FlashKernel::kFlash1},
                                   {"flash2", FlashKernel::kFlash2},
                                   {"flash4", FlashKernel::kFlash4},
                                   {"cudnn", FlashKernel::kCudnn},
                                   {"sdpa", FlashKernel::kSdpa}}},
              "The kernel, where attention is fused. newest: what inference engines call on the "
              "device; flash4: FlashAttention-4 on Blackwell, the newest elsewhere; cudnn: "
              "cuDNN's on Hopper and Blackwell, the newest elsewhere; sdpa: what PyTorch's "
              "scaled_dot_product_attention was left to in 2024 and 2025, FlashAttention-2 and, on "
              "Blackwell, cuDNN."),
          field("softmax", &K::softmax,
                Choice<SoftmaxKernel>{{{"fused", SoftmaxKernel::kFused},
                                       {"eager", SoftmaxKernel::kEager},
                                       {"megatron", SoftmaxKernel::kMegatron},
                                       {"oneflow", SoftmaxKernel::kOneFlow}}},
                "Scale, mask and softmax, where attention is not fused. fused: one kernel; eager: "
                "PyTorch's, with the mask by one of its own; megatron: Megatron-LM's, which reads "
                "no score that the causal mask hides and leaves it to PyTorch, in fp32, where "
                "sequences times heads of a rank are no multiple of 4 or rows longer than 4,096; "
                "oneflow: OneFlow's, with dropout in the same kernel."),
          field("packing", &K::packing, choice,
                "Eager: what fused attention reads and writes is copied to and from rows without "
                "padding."),
          field("shared_keys", &K::shared_keys, choice,
                "Eager: keys and values that several query heads share are copied for each of "
                "these before fused attention."),
          field(
              "merge", &K::merge, choice,
              "What attention gives for each block of a ring (strategy.context) and its "
              "gradients: by a kernel behind each; eager: in fp32, kernel by kernel, as PyTorch's "
              "context_parallel does.")
              .silent_by_default(),
          field("qkv", &K::qkv, choice,
                "Queries, keys and values are one product, or one each, whose input gradients are "
                "added up behind them."),
          field("gate", &K::gate, choice, "The same of the two inputs of a gated activation."),
          field("input_sums", &K::input_sums, choice,
                "Eager: with tensor parallelism, and without sequence parallelism, each of these "
                "products has an all_reduce of its own for the gradient of the input that they "
                "share."),
          field("bias", &K::bias, choice,
                "The gradient of a linear layer's bias: by the product that makes the weight's; "
                "eager: by PyTorch's sum over rows.")
              .silent_by_default(),
          field("dropout", &K::dropout, choice,
                "Dropout of what a layer adds: with bias and sum in one kernel; eager: by one of "
                "its own.")
              .silent_by_default(),
          field("norm", &K::norm, fused_eager_or("native", Fusion::kNative),
                "Norms; native: layer_norm and (since 2.9) rms_norm of PyTorch, backward in two "
                "kernels; eager: RMSNorm in Python, LayerNorm native."),
          field("rope", &K::rope, fused_eager_or("complex", Fusion::kComplex),
                "Rotary positions; eager: x cos + rotate_half(x) sin in kernels of their own; "
                "complex: a cast to fp32, a product of complex numbers, a cast back."),
          field("activation", &K::activation, fused_eager_or("function", Fusion::kFunction),
                "Gated activations; function: eager kernels, called by one function that keeps its "
                "input alone for the backward pass."),
          field("clamp", &K::clamp, choice,
                "Eager: gate and up are cut off at a largest value by kernels of their own, before "
                "a gated activation; fused: they are not, or the activation does it."),
          field("adapters", &K::adapters, choice,
                "Low-rank adapters: what they add is multiplied by alpha / r by a kernel and added "
                "by another, or by one.")
              .silent_by_default(),
          field(
              "cross_entropy", &K::cross_entropy,
              Choice<Fusion>{{{"fused", Fusion::kFused},
                              {"eager", Fusion::kEager},
                              {"parallel", Fusion::kParallel},
                              {"single", Fusion::kSingle}}},
              "The loss over the vocabulary. fused: a kernel for the largest logit of each row, "
              "one "
              "for its sum, one for the gradients; eager: PyTorch's log_softmax and nll_loss; "
              "parallel: Megatron-LM's vocab_parallel_cross_entropy, kernel by kernel; single: one "
              "kernel for loss and gradients, which reads a row once, where a rank has the whole "
              "vocabulary (llm.c's fused classifier), fused elsewhere."),
          field("gradient_sum", &K::gradient_sum, choice,
                "The sum of a weight's gradients over microbatches, fused with their product or "
                "behind it."),
          field("table_gradient", &K::table_gradient, choice,
                "The gradient of the embedding's table: rows of a microbatch's tokens are added to "
                "the sum; eager: to a table of zeros, which is added to the sum whole.")
              .silent_by_default(),
          field("sequence", &K::sequence, choice,
                "Eager: with sequence parallelism the whole is copied behind each all_gather and "
                "before each reduce_scatter, since its outermost dimension is the batch."),
          field("amax", &K::amax, fused_eager_or("blocks", Fusion::kBlocks),
                "Of casts to 8 bits: fused: scaled by what earlier steps had (delayed scaling); "
                "eager: by the tensor's own largest value, which a kernel looks for before; "
                "blocks: each 128 elements by their own (Transformer Engine's Float8BlockScaling), "
                "whose scales Hopper's products multiply outside of the tensor cores, on "
                "Blackwell each 32 (MXFP8)."),
          field("cublas", &K::cublas, Choice<Cublas>{{{"12", Cublas::k12}, {"13", Cublas::k13}}},
                "Its major release, which CUDA's is: on Hopper 12 takes 1.15 times as long for "
                "gradients in 8 bits as for the forward pass, 13 1.035 times.")
              .silent_by_default(),
          field(
              "optimizer", &K::optimizer, choice,
              "Eager: gradients are multiplied by the clip factor, copied to the master's type "
              "where they are narrower and, of fp16, divided by the loss scale, and 16-bit weights "
              "copied from fp32 ones, by kernels of their own, as torch.optim, clip_grad_norm_ and "
              "Megatron-LM of 2021 do.")
              .silent_by_default(),
          field("routing", &K::routing, choice,
                "The choice of experts, and tokens to and from their slots."),
          field("experts", &K::experts, choice,
                "Eager: a product of several experts is one for each of them, run and issued one "
                "after the other, as by Transformer Engine's GroupedLinear."),
          field("expert_bias", &K::expert_bias, choice,
                "Eager: biases of the experts' second products are added expert by expert, times "
                "the gates, in fp32; fused: there are none, or the product adds them."),
          field("expert_padding", &K::expert_padding, choice,
                "Eager: each expert's rows are copied to a multiple of 16 or 32 before products in "
                "8 bits, and back behind them; fused: what moves tokens leaves the gaps.")
              .silent_by_default(),
          field("exchange", &K::exchange,
                Choice<Dispatcher>{{{"nccl", Dispatcher::kNccl}, {"deepep", Dispatcher::kDeepEp}}},
                "The all_to_all of tokens to their experts: NCCL's, or DeepEP's, which sends a "
                "token to a rank, and to a node, once."),
      });
  return table;
}

}  // namespace plait
