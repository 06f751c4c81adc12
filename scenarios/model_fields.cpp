#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/hf_families.h"
#include "model/presets.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

std::string hf_types() {
  std::vector<std::string_view> names;
  for (const HfFamily& family : hf_families()) names.push_back(family.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
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

}  // namespace plait
