// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// biases and norms stand: modeling_<family>.py beside it.

#include "model/hf_gpts.h"

#include "core/error.h"
#include "model/hf_parts.h"
#include "model/hf_windows.h"

// ALiBi, the linear biases of attention that take the place of positions, is left out: kernels add
// it where they add the mask.

namespace plait::hf {
namespace {

struct GptDefaults {
  std::int64_t vocab, hidden, ffn_hidden, layers, heads, max_positions;
};

/// Under the names that all newer families have; OPT has but the MLP's width by another one.
Model read_gpt_sizes(HfReader& config, const GptDefaults& defaults) {
  Model m = layer_norm_model();
  m.vocab = config.size({"vocab_size"}, kMaxWidth, defaults.vocab);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, defaults.hidden);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, defaults.layers);
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, defaults.heads);
  m.kv_heads = m.heads;
  m.ffn_hidden = config.size({"intermediate_size", "ffn_dim"}, kMaxWidth, defaults.ffn_hidden);
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, defaults.max_positions);
  read_head_dim(m, config);
  return m;
}

struct Gpt2Defaults {
  std::int64_t vocab, hidden, layers, heads, max_positions;
};

/// Under GPT-2's own names, which GPT-J has too; its activation with them.
Model read_gpt2_sizes(HfReader& config, const Gpt2Defaults& defaults) {
  Model m = layer_norm_model();
  m.vocab = config.size({"vocab_size"}, kMaxWidth, defaults.vocab);
  m.hidden = config.size({"n_embd", "hidden_size"}, kMaxWidth, defaults.hidden);
  m.layers = config.size({"n_layer", "num_hidden_layers"}, kMaxLayers, defaults.layers);
  m.heads = config.size({"n_head", "num_attention_heads"}, kMaxHeads, defaults.heads);
  m.kv_heads = m.heads;
  m.ffn_hidden = config.size({"n_inner"}, kMaxWidth, 4 * m.hidden);
  m.max_positions = config.size({"n_positions", "max_position_embeddings"}, kMaxPositions,
                                defaults.max_positions);
  read_head_dim(m, config);
  m.activation = read_activation(config, {"activation_function"}, "gelu_new");
  return m;
}

/// Key and value heads, and the number of norms, depend on the generation: falcon-40b
/// (new_decoder_architecture) has groups and two norms, falcon-7b one group and one shared norm.
void read_falcon_generation(Model& m, HfReader& config) {
  const bool grouped = config.flag({"new_decoder_architecture"}, false);
  const bool multi_query = config.flag({"multi_query"}, true);
  m.kv_heads =
      !grouped && multi_query ? 1 : config.size({"num_kv_heads", "n_head_kv"}, kMaxHeads, m.heads);
  m.parallel_attention = config.flag({"parallel_attn"}, true) || grouped;
  if (!m.parallel_attention) return;
  m.shared_norm = !grouped || config.size({"num_ln_in_parallel_attn"}, 2, 2) == 1;
}

}  // namespace

Model read_gpt2(HfReader& config) {
  Model m = read_gpt2_sizes(config, {50257, 768, 12, 12, 1024});
  m.positions = PositionKind::kLearned;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  read_dropout(m, config, {"attn_pdrop"}, {"resid_pdrop"}, 0.1);
  return m;
}

Model read_gpt_neox(HfReader& config) {
  Model m = read_gpt_sizes(config, {50432, 6144, 24576, 44, 64, 2048});
  m.activation = read_activation(config, {"hidden_act"}, "gelu");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, true);
  m.mlp_bias = true;
  m.parallel_attention = config.flag({"use_parallel_residual"}, true);
  read_partial_rotation(m, config, {"partial_rotary_factor", "rotary_pct"}, 0.25);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  return m;
}

/// One norm for attention, which has no biases, and MLP.
Model read_gptj(HfReader& config) {
  Model m = read_gpt2_sizes(config, {50400, 4096, 28, 16, 2048});
  const std::int64_t rotated = config.size({"rotary_dim"}, m.head_dim, 64);
  m.rope_head_dim = rotated == m.head_dim ? 0 : rotated;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  m.mlp_bias = m.output_bias = m.parallel_attention = m.shared_norm = true;
  read_dropout(m, config, {"attn_pdrop"}, {"resid_pdrop"}, 0);
  return m;
}

/// Phi-1 and Phi-2.
Model read_phi(HfReader& config) {
  Model m = read_gpt_sizes(config, {51200, 2048, 8192, 24, 32, 2048});
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads, m.heads);
  m.activation = read_activation(config, {"hidden_act"}, "gelu_new");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  read_partial_rotation(m, config, {"partial_rotary_factor"}, 0.5);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = m.output_bias = true;
  m.parallel_attention = m.shared_norm = true;
  if (config.flag({"qk_layernorm"}, false))
    refuse_config(*config.take({"qk_layernorm"}), "LayerNorm of queries and keys is");
  read_dropout(m, config, {"attention_dropout"}, {"resid_pdrop"}, 0);
  return m;
}

Model read_falcon(HfReader& config) {
  Model m = layer_norm_model();
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 65024);
  m.hidden = config.size({"hidden_size", "n_embed"}, kMaxWidth, 4544);
  m.layers = config.size({"num_hidden_layers", "n_layer"}, kMaxLayers, 32);
  m.heads = config.size({"num_attention_heads", "n_head"}, kMaxHeads, 71);
  m.ffn_hidden = config.size({"ffn_hidden_size"}, kMaxWidth, 4 * m.hidden);
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, 2048);
  if (config.flag({"alibi"}, false)) m.positions = PositionKind::kNone;
  read_falcon_generation(m, config);
  read_head_dim(m, config);
  m.activation = read_activation(config, {"activation"}, "gelu");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = config.flag({"bias"}, false);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  return m;
}

Model read_bloom(HfReader& config) {
  Model m = layer_norm_model();
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 250880);
  m.hidden = config.size({"hidden_size", "n_embed"}, kMaxWidth, 64);
  m.layers = config.size({"n_layer", "num_hidden_layers"}, kMaxLayers, 2);
  m.heads = config.size({"n_head", "num_attention_heads"}, kMaxHeads, 8);
  m.kv_heads = m.heads;
  m.ffn_hidden = config.size({"n_inner"}, kMaxWidth, 4 * m.hidden);
  m.max_positions = config.size({"seq_length"}, kMaxPositions, 2048);
  read_head_dim(m, config);
  m.positions = PositionKind::kNone;
  m.activation = ActivationKind::kGelu;
  m.embedding_norm = true;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  if (config.flag({"apply_residual_connection_post_layernorm"}, false))
    refuse_config(*config.take({"apply_residual_connection_post_layernorm"}),
                  "a residual branch from behind the norm is");
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  return m;
}

Model read_opt(HfReader& config) {
  Model m = read_gpt_sizes(config, {50272, 768, 3072, 12, 12, 2048});
  m.max_positions += 2;  // rows before the first
  m.activation = read_activation(config, {"activation_function"}, "relu");
  m.positions = PositionKind::kLearned;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = config.flag({"enable_bias"}, true);
  if (!config.flag({"do_layer_norm_before"}, true))  // opt-350m
    refuse_config(*config.take({"do_layer_norm_before"}),
                  "a decoder with its norms behind sums is");
  if (config.size({"word_embed_proj_dim"}, kMaxWidth, m.hidden) != m.hidden)
    refuse_config(*config.take({"word_embed_proj_dim"}), "an embedding narrower than layers is");
  m.dropout = config.probability({"dropout"}, 0.1);
  m.attention_dropout = config.probability({"attention_dropout"}, 0);
  return m;
}

Model read_starcoder2(HfReader& config) {
  Model m = read_gpt_sizes(config, {49152, 3072, 12288, 30, 24, 4096});
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads, 2);
  m.activation = read_activation(config, {"hidden_act"}, "gelu_pytorch_tanh");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = config.flag({"use_bias"}, true);
  read_dropout(m, config, {"attention_dropout"}, {"residual_dropout"}, 0);
  read_windows(m, config, {});
  return m;
}

/// Norms have no biases where nothing has.
Model read_mpt(HfReader& config) {
  Model m = layer_norm_model();
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 50368);
  m.hidden = config.size({"d_model"}, kMaxWidth, 2048);
  m.layers = config.size({"n_layers"}, kMaxLayers, 24);
  m.heads = config.size({"n_heads"}, kMaxHeads, 16);
  m.ffn_hidden = m.hidden * config.size({"expansion_ratio"}, kMaxHeads, 4);
  m.max_positions = config.size({"max_seq_len"}, kMaxPositions, 2048);
  read_head_dim(m, config);
  HfReader attention = config.inside("attn_config");
  const bool one_group =
      attention.word({"attn_type"}, "multihead_attention") == "multiquery_attention";
  m.kv_heads = attention.size({"kv_n_heads"}, kMaxHeads, one_group ? 1 : m.heads);
  const bool linear = attention.flag({"alibi"}, true), rotated = attention.flag({"rope"}, false);
  m.positions = rotated  ? PositionKind::kRotary
                : linear ? PositionKind::kNone
                         : PositionKind::kLearned;
  for (const char* name : {"clip_qkv", "qk_ln", "qk_gn", "sliding_window_size"}) {
    const Json* key = attention.take({name});
    const bool off = key == nullptr || key->is(Json::Kind::kNull) ||
                     (key->is(Json::Kind::kBool) && !key->boolean()) ||
                     (key->is(Json::Kind::kInteger) && key->integer() <= 0);
    if (!off) refuse_config(*key, "attention that clips, normalises or windows here is");
  }
  const bool plain = config.flag({"no_bias"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = !plain;
  if (plain) assume_norm_biases(config);
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  set_dropout(m, config.probability({"resid_pdrop"}, 0), attention.probability({"attn_pdrop"}, 0));
  for (const char* name :
       {"emb_pdrop", "embedding_fraction", "init_config", "init_device", "learned_pos_emb",
        "logit_scale", "norm_type", "tokenizer_name", "verbose"})
    config.take({name});
  return m;
}

/// LayerNorm with one added to its weights.
Model read_nemotron(HfReader& config) {
  Model m = read_gpt_sizes(config, {256000, 6144, 24576, 32, 48, 4096});
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads, m.heads);
  if (config.peek("head_dim") == nullptr && config.peek("kv_channels") != nullptr)
    m.head_dim = config.size({"kv_channels"}, kMaxHeads, m.head_dim);
  config.take({"kv_channels"});
  m.activation = read_activation(config, {"hidden_act"}, "relu2");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  read_partial_rotation(m, config, {"partial_rotary_factor", "partial_rotary_percent"}, 0.5);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  config.take({"norm_eps"});
  return m;
}

}  // namespace plait::hf
