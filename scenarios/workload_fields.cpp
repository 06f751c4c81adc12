#include "scenarios/fields.h"

namespace plait {
namespace {

Choice<DType> product_types() {
  return choice_of({DType::kBf16, DType::kFp16, DType::kFp32, DType::kFp8, DType::kNvfp4});
}

Choice<DType> float_types() { return choice_of({DType::kBf16, DType::kFp16, DType::kFp32}); }

// NOLINTNEXTLINE(readability-function-size): a table
const Table<Precision>& precision_table() {
  static const Table<Precision> table(
      "workload.precision",
      {
          field("weights", &Precision::weights, float_types(),
                "Weights in forward and backward, and activations."),
          field("gradients", &Precision::gradients, float_types(), "Accumulated gradients."),
          field("reduction", &Precision::reduction, float_types(), "Gradients on the wire.")
              .otherwise("the type of `gradients`"),
          field("master", &Precision::master, float_types(),
                "The optimizer's copy of the weights; the type of `weights` means that there is "
                "none."),
          field("split_master", &Precision::split_master, Flag{},
                "Of the fp32 master only the lower halves are kept, since bf16 weights are the "
                "upper ones (Apex's store_param_remainders); not with `narrow_weights`."),
          field("moments", &Precision::moments, float_types(), "Adam's two moments."),
          field(
              "matmul", &Precision::matmul, product_types(),
              "What the products of the linear layers read: `fp8` and `nvfp4` cast inputs, weights "
              "and gradients as Transformer Engine does (nvfp4 by its recipe NVFP4BlockScaling); "
              "else the type of `weights`.")
              .otherwise("the type of `weights`"),
          field("plain_first", &Precision::plain_first, Int{.min = 0, .max = 100'000},
                "With fp8 or nvfp4: layers at the start of the model whose products read the type "
                "of `weights` all the same."),
          field("plain_last", &Precision::plain_last, Int{.min = 0, .max = 100'000},
                "The same at its end. Transformer Engine's recipes leave none; NVFP4's authors "
                "leave 15 % of the layers (arXiv 2509.25149), Megatron-Core as many as "
                "--num-layers-at-end-in-bf16 says."),
          field("scales", &Precision::scales, choice_of({Scales::kTensor, Scales::kRow}),
                "With fp8, what has a scale of its own. tensor: each tensor, as Transformer Engine "
                "has it. row: each row along a product's k (torchao's recipe rowwise): every "
                "product casts its operands anew, from what is kept and gathered in the type of "
                "`weights`, and gradients are multiplied by the scales behind the product.")
              .silent_by_default(),
          field("narrow_weights", &Precision::narrow_weights,
                choice_of({NarrowWeights::kNone, NarrowWeights::kKept, NarrowWeights::kGathered}),
                "With fp8, of linear layers. none: weights are kept and gathered in the type of "
                "`weights`, beside copies in 8 bits. kept: they are gathered in it, and their "
                "copies alone stay (Megatron-LM's --fp8-param-gather with mxfp8). gathered: they "
                "are cast from `master` once a step, kept and gathered in 8 bits (the same with "
                "one scale for each weight), with zero_stage 3 in front of each gather (torchao's "
                "enable_fsdp_float8_all_gather).")
              .silent_by_default(),
          field(
              "autocast", &Precision::autocast,
              Choice<std::optional<DType>>{
                  {{"none", std::nullopt}, {"bf16", DType::kBf16}, {"fp16", DType::kFp16}}},
              "torch.autocast, as `bf16` and `fp16` of Hugging Face's Trainer and of Accelerate "
              "without FSDP have it: with `weights` in fp32, what matrix products and attention "
              "read is cast to this type in each pass; embeddings, norms, the residual stream and "
              "the loss stay in fp32.")
              .silent_by_default(),
          field("narrow_logits", &Precision::narrow_logits, Flag{},
                "The loss reads logits, and writes their gradients, in the type of the output "
                "matrix's product (Megatron-LM's --fp16-lm-cross-entropy, llm.c); else in fp32, "
                "between a cast of each.")
              .silent_by_default(),
      },
      "weights");
  return table;
}

const Table<Documents>& documents_table() {
  static const Table<Documents> table(
      "workload.documents",
      {
          field("packing", &Documents::packing,
                choice_of({Packing::kNone, Packing::kPacked, Packing::kPadded}),
                "none: attention and the loss take no notice of documents. packed: attention stays "
                "within each (FlashAttention's varlen kernels, sample packing); what they leave of "
                "the sequence is padding. padded: one in each sequence, and padding behind it. "
                "Padding is computed, but neither trained on nor counted as tokens.")
              .otherwise("\"packed\" where documents have a length, else \"none\""),
          field("length", &Documents::length, Int{.min = 0, .max = 1 << 28},
                "Tokens of each document; 0: as `lengths` says. Packed: as many as fit, and one "
                "that is cut where the sequence ends."),
          field("lengths", &Documents::lengths, List{Int{.max = 1 << 28}},
                "Packed: of the documents of every sequence, in order. Padded: of the documents of "
                "the batch's sequences, in turn."),
      });
  return table;
}

const Table<LowRankAdapters>& lora_table() {
  using T = AdapterTarget;
  static const Table<LowRankAdapters> table(
      "workload.lora",
      {
          field("rank", &LowRankAdapters::rank, Int{.min = 0, .max = 1 << 16},
                "Rows of the factor A, columns of B, r; 0: no adapters, and all parameters are "
                "trained. Else they alone are, and all others are frozen."),
          field("alpha", &LowRankAdapters::alpha, Real{.min = 0, .max = 1 << 20},
                "What adapters add is B A x times alpha / r; 0: r."),
          field("dropout", &LowRankAdapters::dropout, Real{.min = 0, .max = 1},
                "How often an element of what an adapter reads is dropped; below 1.")
              .silent_by_default(),
          field("rank_stabilized", &LowRankAdapters::rank_stabilized, Flag{},
                "Times alpha / sqrt(r) instead (rsLoRA).")
              .silent_by_default(),
          field("frozen", &LowRankAdapters::frozen,
                choice_of({FrozenWeights::kPlain, FrozenWeights::kNf4}),
                "How the frozen matrices of the layers' linear layers are stored: as "
                "`workload.precision` says, or in 4 bits (QLoRA), dequantised in front of each "
                "product.")
              .silent_by_default(),
          field("double_quantized", &LowRankAdapters::double_quantized, Flag{},
                "With nf4: the scales of its blocks of 64 are stored in 8 bits, in blocks of 256, "
                "rather than in fp32.")
              .silent_by_default(),
          field("targets", &LowRankAdapters::targets,
                List{choice_of({T::kQkv, T::kQ, T::kK, T::kV, T::kOut, T::kUp, T::kGateHalf,
                                T::kUpHalf, T::kDown})},
                "Products that have one: qkv (queries, keys and values in one), or q, k and v by "
                "themselves; out (behind attention); up (the MLP's first, with its gate), or "
                "gate_half and up_half; down."),
      });
  return table;
}

/// Documents that have a length are packed where nothing else is said.
struct DocumentsRule {
  Shape shape() const { return documents_table().shape(); }
  void read(const Json& json, Documents& into) const {
    documents_table().read(json, into);
    if (json.find("packing") == nullptr && into.have_length()) into.packing = Packing::kPacked;
  }
  std::string write(const Documents& documents) const { return documents_table().write(documents); }
};

}  // namespace

const Table<Workload>& workload_table() {
  static const Table<Workload> table(
      "workload",
      {
          field("sequence_length", &Workload::sequence_length, Int{.max = 1 << 28}, "Tokens, s.")
              .required(),
          field("global_batch", &Workload::global_batch, Int{.max = 1 << 28},
                "Sequences per optimizer step over all ranks.")
              .required(),
          field("micro_batch", &Workload::micro_batch, Int{.max = 1 << 20},
                "Sequences per forward pass of one data-parallel rank, b.")
              .searchable(),
          field("precision", &Workload::precision, Nested{&precision_table()},
                "Element types of the training state."),
          field("documents", &Workload::documents, DocumentsRule{},
                "What sequences are made of, where that is not one document each."),
          field("lora", &Workload::lora, Nested{&lora_table()},
                "Fine-tuning of low-rank adapters beside frozen weights (LoRA).")
              .silent_by_default(),
          field("capacity_factor", &Workload::capacity_factor, Real{.min = 0, .max = 1024},
                "Slots of each expert for a sequence's tokens, over an even share of them; tokens "
                "beyond are dropped. 0: none are dropped."),
          field("expert_skew", &Workload::expert_skew, Real{.min = 1, .max = 1024},
                "Where no tokens are dropped: tokens of the busiest expert rank over the mean. 1: "
                "balanced."),
          field("loss_pieces", &Workload::loss_pieces, Int{.min = 0, .max = 1 << 16},
                "Pieces in which the output matrix and the loss take a microbatch's tokens: logits "
                "are those of one piece at a time (Liger's fused linear cross entropy). 1: whole; "
                "0: as many as Liger-Kernel "
                "makes, where it can."),
          field("flash_attention", &Workload::flash_attention, Flag{}, "Fused attention kernels."),
          field("gradient_clipping", &Workload::gradient_clipping, Flag{},
                "Global gradient norm before the optimizer."),
      });
  return table;
}

}  // namespace plait
