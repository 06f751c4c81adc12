#include "scenarios/fields.h"

#include <fmt/format.h>

#include "model/hf_families.h"
#include "model/presets.h"

namespace plait {
namespace {

std::string hf_types() {
  std::vector<std::string_view> names;
  for (const HfFamily& family : hf_families()) names.push_back(family.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Choice<DType> product_types() {
  return choice_of({DType::kBf16, DType::kFp16, DType::kFp32, DType::kFp8, DType::kNvfp4});
}

Choice<DType> float_types() { return choice_of({DType::kBf16, DType::kFp16, DType::kFp32}); }

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

const Table<Model>& model_table() {
  static const Table<Model> table(
      "model",
      {
          field("name", &Model::name, Text{}, "What reports call it.").otherwise("\"custom\""),
          field("layers", &Model::layers, Int{.max = kMostLayers}, "Transformer layers, L.")
              .required(),
          field("hidden", &Model::hidden, Int{.max = 1 << 24}, "Width of the residual stream, h.")
              .required(),
          field("ffn_hidden", &Model::ffn_hidden, Int{.max = 1 << 26},
                "Inner width of the MLP (of one gate when gated).")
              .otherwise("4 * hidden"),
          field("heads", &Model::heads, Int{.max = 1 << 16}, "Query heads, a.").required(),
          field("kv_heads", &Model::kv_heads, Int{.max = 1 << 16},
                "Key and value heads; fewer than `heads` is grouped-query attention.")
              .otherwise("heads"),
          field("head_dim", &Model::head_dim, Int{.max = 1 << 16},
                "Width of one head of queries and keys.")
              .otherwise("hidden / heads"),
          field("kv_lora_rank", &Model::kv_lora_rank, Int{.min = 0, .max = 1 << 24},
                "Multi-head latent attention: width of the latent of keys and values; 0: none. "
                "`head_dim` is given with it."),
          field("q_lora_rank", &Model::q_lora_rank, Int{.min = 0, .max = 1 << 24},
                "Width of the latent of queries; 0: they are made of the hidden state."),
          field(
              "rope_head_dim", &Model::rope_head_dim, Int{.min = 0, .max = 1 << 16},
              "Columns of `head_dim` that carry the position, in latent attention; elsewhere too, "
              "where not all do (0: all)."),
          field("v_head_dim", &Model::v_head_dim, Int{.min = 0, .max = 1 << 16},
                "Width of one head of values, in latent attention; 0: `head_dim`."),
          field("vocab", &Model::vocab, Int{.max = 1 << 28},
                "Vocabulary as the embedding stores it, V.")
              .required(),
          field("max_positions", &Model::max_positions, Int{.max = 1 << 28},
                "Rows of a learned position table; the longest sequence.")
              .otherwise("sequence_length"),
          field("norm", &Model::norm,
                Choice<NormKind>{
                    {{"layernorm", NormKind::kLayerNorm}, {"rmsnorm", NormKind::kRmsNorm}}},
                "LayerNorm has a bias, RMSNorm has none."),
          field("activation", &Model::activation,
                Choice<ActivationKind>{{{"gelu", ActivationKind::kGelu},
                                        {"silu", ActivationKind::kSilu},
                                        {"relu", ActivationKind::kRelu}}},
                "Of the MLP."),
          field("gated_mlp", &Model::gated_mlp, Flag{}, "Two input projections and a product."),
          field("positions", &Model::positions,
                Choice<PositionKind>{{{"learned", PositionKind::kLearned},
                                      {"rotary", PositionKind::kRotary},
                                      {"none", PositionKind::kNone}}},
                "How a token knows its position."),
          field("tied_embeddings", &Model::tied_embeddings, Flag{},
                "Logits use the token embedding."),
          field("qkv_bias", &Model::qkv_bias, Flag{}, "Bias of the query-key-value projection."),
          field("attention_output_bias", &Model::attention_output_bias, Flag{},
                "Bias of the projection behind attention."),
          field("mlp_bias", &Model::mlp_bias, Flag{}, "Biases of the MLP."),
          field("output_bias", &Model::output_bias, Flag{},
                "Bias of the output matrix (GPT-J, Phi).")
              .silent_by_default(),
          field("qk_norm", &Model::qk_norm, Flag{},
                "RMSNorm of each head's query and key (Qwen3)."),
          field("qk_norm_across_heads", &Model::qk_norm_across_heads, Flag{},
                "With qk_norm: of the queries of all heads as one vector, and of their keys "
                "(OLMo 2, MiniMax-M2).")
              .silent_by_default(),
          field("attention_gate", &Model::attention_gate, Flag{},
                "Attention's results times the sigmoid of a gate, a number each, before the "
                "projection behind them (Qwen3-Next).")
              .silent_by_default(),
          field("attention_window", &Model::attention_window, Int{.min = 0, .max = 1 << 28},
                "Sliding window: tokens that a query sees, itself included; 0: all of them."),
          field("full_attention_first", &Model::full_attention_first, Int{.min = 0, .max = 100'000},
                "With a window: layers, the first ones, that see all tokens all the same."),
          field("full_attention_every", &Model::full_attention_every, Int{.min = 0, .max = 100'000},
                "With a window: each so-many-th layer, counted from 1, sees all tokens all the "
                "same; 0: none."),
          field("causal", &Model::causal, Flag{},
                "A token sees itself and those before it; false: all of its sequence (an encoder), "
                "which is trained to tell masked tokens."),
          field("norm_position", &Model::norm_position,
                Choice<NormPosition>{{{"pre", NormPosition::kPre},
                                      {"post", NormPosition::kPost},
                                      {"both", NormPosition::kBoth},
                                      {"branch", NormPosition::kBranch}}},
                "In front of attention and MLP; behind their residual sums; in front and of what "
                "they add too, as in Gemma 2 and 3; or of what they add alone, as in OLMo 2. In "
                "all but \"post\" a last one stands behind all layers."),
          field("embedding_norm", &Model::embedding_norm, Flag{},
                "A norm of the sum of all embeddings."),
          field("token_types", &Model::token_types, Int{.min = 0, .max = 1 << 16},
                "Rows of a table that says which text of its sequence a token belongs to (BERT's "
                "segments); 0: none."),
          field("masked_lm_head", &Model::masked_lm_head, Flag{},
                "A linear layer, the activation and a norm before the output matrix, which has a "
                "bias (BERT)."),
          field("parallel_attention", &Model::parallel_attention, Flag{},
                "Attention and MLP side by side (Falcon, GPT-NeoX)."),
          field("shared_norm", &Model::shared_norm, Flag{},
                "With parallel_attention: one norm in front of both (Falcon-7B).")
              .silent_by_default(),
          field("experts", &Model::experts, Int{.min = 0, .max = 1 << 16},
                "Experts of a mixture, E; 0: every layer has one MLP."),
          field("experts_per_token", &Model::experts_per_token, Int{.min = 0, .max = 1 << 16},
                "Experts that a token meets, k."),
          field("expert_ffn_hidden", &Model::expert_ffn_hidden, Int{.min = 0, .max = 1 << 26},
                "Inner width of one expert's MLP; 0: ffn_hidden."),
          field("shared_ffn_hidden", &Model::shared_ffn_hidden, Int{.min = 0, .max = 1 << 26},
                "Inner width of the experts, together, that see every token; 0: none."),
          field("shared_expert_gate", &Model::shared_expert_gate, Flag{},
                "What these make times the sigmoid of a gate, one for each token (Qwen3-Next).")
              .silent_by_default(),
          field("first_dense_layers", &Model::first_dense_layers, Int{.min = 0, .max = 100'000},
                "Layers before the first one with experts."),
          field("moe_every", &Model::moe_every, Int{.max = 100'000},
                "Of the layers from there on, each so-many-th has experts."),
          field(
              "layer_pattern", &Model::layer_pattern, Text{},
              "What each layer has, a letter for each: `M` state-space mixer, `G` gated delta net, "
              "`*` attention, `-` MLP, `E` experts, alone; `m`, `g` and `a` mixer, net or "
              "attention with an MLP, or experts, behind it. Empty: `a` everywhere.")
              .otherwise("every layer has attention and an MLP, or experts")
              .silent_by_default(),
          field(
              "state_size", &Model::state_size, Int{.min = 0, .max = 1 << 24},
              "State-space mixers (Mamba-2): columns of the state of a head, N; gated delta nets: "
              "width of a key head.")
              .silent_by_default(),
          field("state_heads", &Model::state_heads, Int{.min = 0, .max = 1 << 16},
                "Heads of a state-space mixer, H; value heads of a gated delta net.")
              .silent_by_default(),
          field("state_head_dim", &Model::state_head_dim, Int{.min = 0, .max = 1 << 16},
                "Rows of the state of a head, P; width of a value head.")
              .silent_by_default(),
          field("state_groups", &Model::state_groups, Int{.max = 1 << 16},
                "Groups of heads with the same B and C, G; key heads.")
              .silent_by_default(),
          field("conv_width", &Model::conv_width, Int{.max = 1 << 16},
                "Tokens that the convolution of a mixer with states sees.")
              .silent_by_default(),
          field("scan_chunk", &Model::scan_chunk, Int{.max = 1 << 28},
                "Tokens that a scan, or a delta rule, takes at a time, Q.")
              .silent_by_default(),
          field("mtp_layers", &Model::mtp_layers, Int{.min = 0, .max = 64},
                "Modules behind the last layer that predict further tokens in training, D."),
          field("dropout", &Model::dropout, Real{.min = 0, .max = 1},
                "Probability, on attention weights and both residual branches."),
          field("attention_dropout", &Model::attention_dropout, Real{.min = -1, .max = 1},
                "On attention weights, where that is another one; -1: `dropout`.")
              .silent_by_default(),
      });
  return table;
}

const Table<ModelPart>& model_part_table() {
  static const Table<ModelPart> table = [] {
    Table<ModelPart> t("model",
                       {
                           field("preset", &ModelPart::preset, Text{preset_names()},
                                 "A known model; the other keys change it.")
                               .otherwise("none"),
                           field("hf_config", &ModelPart::hf_config, Text{},
                                 "Path of a Hugging Face config.json, relative to this file. Its "
                                 "model_type: " +
                                     hf_types() +
                                     ". What is served has the weights and products of its "
                                     "quantization_config, where serving says none.")
                               .otherwise("none"),
                       },
                       "preset");
    t.include(&ModelPart::model, model_table());
    return t;
  }();
  return table;
}

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
          field("loss_pieces", &Workload::loss_pieces, Int{.max = 1 << 16},
                "Pieces in which the output matrix and the loss take a microbatch's tokens: logits "
                "are those of one piece at a time (Liger's fused linear cross entropy). 1: whole."),
          field("flash_attention", &Workload::flash_attention, Flag{}, "Fused attention kernels."),
          field("gradient_clipping", &Workload::gradient_clipping, Flag{},
                "Global gradient norm before the optimizer."),
      });
  return table;
}

const Table<FrameworkMemory>& memory_table() {
  using M = FrameworkMemory;
  static const Table<M> table(
      "memory",
      {
          field("context", &M::context, Amount<Bytes>{}, "Driver context and loaded kernels."),
          field("fragmentation", &M::fragmentation, Real{.min = 0, .max = 1},
                "What the allocator reserves beyond live tensors, as a fraction of them."),
          field("workspaces", &M::workspaces, Int{.min = 0, .max = 64},
                "Workspaces of cuBLAS: one for each thread that multiplies, PyTorch's of forward "
                "and backward."),
          field("workspace", &M::workspace, Amount<Bytes>{},
                "Each of these, as CUBLAS_WORKSPACE_CONFIG sets it.")
              .otherwise("32 MiB from compute capability 9.0 on, before 8.125 MiB"),
          field(
              "library_workspaces", &M::library_workspaces, Int{.min = 0, .max = 64},
              "Workspaces of libraries beside the framework: 1 for Transformer Engine's products."),
          field("step_bytes_per_parameter", &M::step_bytes_per_parameter, Real{.min = 0, .max = 64},
                "Temporaries of the optimizer step, per parameter that a rank updates."),
          field("loss_bytes_per_logit", &M::loss_bytes_per_logit, Real{.min = 0, .max = 64},
                "Copies of the logits that the loss holds beyond the plan's."),
          field("split_loss_bytes_per_logit", &M::split_loss_bytes_per_logit,
                Real{.min = -1, .max = 64},
                "The same where ranks along tp have shares of the vocabulary; -1: "
                "`loss_bytes_per_logit`."),
          field("loss_gap_bytes_per_logit", &M::loss_gap_bytes_per_logit, Real{.min = 0, .max = 64},
                "What the allocator holds free between copies of the logits, too small for one."),
          field("trees", &M::trees, Flag{},
                "NCCL before 2.22: communicators have buffers of trees too, used or not."),
          field("buckets", &M::buckets, Amount<Bytes>{}, "Flat communication buffers."),
      });
  return table;
}

}  // namespace plait
