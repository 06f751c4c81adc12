// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// biases and norms stand: modeling_<family>.py beside it.

#include "model/hf_gated_gpts.h"

#include "model/hf_parts.h"
#include "model/hf_windows.h"

namespace plait::hf {
namespace {

Model read_with_layer_norm(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_sizes(config, defaults);
  m.norm = NormKind::kLayerNorm;
  return m;
}

void refuse_head_layer_norms(HfReader& config, const char* name) {
  if (config.flag({name}, false))
    refuse_config(*config.take({name}), "LayerNorm of queries and keys is");
}

/// Attention and MLP side by side behind one norm.
Model read_command(HfReader& config, std::int64_t kv_heads) {
  Model m = read_with_layer_norm(
      config, {256000, 8192, 22528, 40, 64, kv_heads, 8192, /*tied_embeddings=*/true});
  read_head_dim(m, config);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.parallel_attention = m.shared_norm = true;
  assume_norm_biases(config);
  config.take({"logit_scale"});
  return m;
}

}  // namespace

Model read_stablelm(HfReader& config) {
  Model m = read_with_layer_norm(config, {50304, 2560, 6912, 32, 32, 32, 4096});
  read_head_dim(m, config);
  m.qkv_bias = config.flag({"use_qkv_bias"}, false);
  m.parallel_attention = m.shared_norm = config.flag({"use_parallel_residual"}, false);
  refuse_head_layer_norms(config, "qk_layernorm");
  read_partial_rotation(m, config, {"partial_rotary_factor", "rope_pct"}, 0.25);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  config.take({"norm_eps"});
  return m;
}

Model read_phimoe(HfReader& config) {
  Model m = read_with_layer_norm(config, {32064, 4096, 6400, 32, 32, 8, 131072});
  read_head_dim(m, config);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.output_bias = config.flag({"lm_head_bias"}, false);
  read_experts_as_wide(m, config, {"num_local_experts"}, 16, 2);
  read_windows(m, config, {});
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  for (const char* name :
       {"router_jitter_noise", "input_jitter_noise", "original_max_position_embeddings"})
    config.take({name});
  return m;
}

Model read_cohere(HfReader& config) {
  Model m = read_command(config, 0);
  refuse_head_layer_norms(config, "use_qk_norm");  // Command-R+
  return m;
}

/// Layers that see all tokens are rotated here, which theirs are not (modeling_cohere2.py,
/// Cohere2Attention).
Model read_cohere2(HfReader& config) {
  Model m = read_command(config, 0);
  const std::int64_t every = config.size({"sliding_window_pattern"}, kMaxLayers, 4);
  read_windows(m, config, {.window = 4096, .every = every});
  assume_rotation(m, config, m.layers - m.windowed_layers());
  return m;
}

/// Its numbers of attention and experts stand in objects of their own. The clipping of queries,
/// keys and values, which is a pass over them, is not planned.
Model read_dbrx(HfReader& config) {
  Model m;
  m.norm = NormKind::kLayerNorm;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 32000);
  m.hidden = config.size({"d_model"}, kMaxWidth, 2048);
  m.layers = config.size({"n_layers"}, kMaxLayers, 24);
  m.heads = config.size({"n_heads"}, kMaxHeads, 16);
  m.max_positions = config.size({"max_seq_len"}, kMaxPositions, 2048);
  read_head_dim(m, config);
  HfReader attention = config.inside("attn_config"), experts = config.inside("ffn_config");
  m.kv_heads = attention.size({"kv_n_heads"}, kMaxHeads, 1);
  m.ffn_hidden = m.expert_ffn_hidden = experts.size({"ffn_hidden_size"}, kMaxWidth, 3584);
  m.experts = experts.size({"moe_num_experts"}, kMaxExperts, 4);
  m.experts_per_token = experts.size({"moe_top_k"}, m.experts, 1);
  set_dropout(m, config.probability({"resid_pdrop"}, 0), attention.probability({"attn_pdrop"}, 0));
  const Json* clip = attention.take({"clip_qkv"});
  if (clip != nullptr && !clip->is(Json::Kind::kNull))
    config.assume("attn_config.clip_qkv", "null, as clipping is not planned");
  assume_norm_biases(config);
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  config.take({"emb_pdrop"});
  return m;
}

}  // namespace plait::hf
