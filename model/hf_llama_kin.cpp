// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py; of
// InternLM, Baichuan, EXAONE 3 and ChatGLM configuration_<family>.py and modeling_<family>.py
// beside the published weights, as vllm/model_executor/models/<family>.py reads them.

#include "model/hf_llama_kin.h"

#include <string>
#include <vector>

#include "model/hf_parts.h"
#include "model/hf_windows.h"

namespace plait::hf {
namespace {

Model read_kin(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_sizes(config, defaults);
  read_head_dim(m, config);
  return m;
}

void read_biases_everywhere(Model& m, HfReader& config) {
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = config.flag({"use_bias"}, false);
}

/// "LLLG": L layers with a window, G without, again and again. A number is how many.
std::int64_t pattern_length(HfReader& config) {
  const Json* pattern = config.peek("sliding_window_pattern");
  if (pattern == nullptr || !pattern->is(Json::Kind::kText))
    return config.size({"sliding_window_pattern"}, kMaxLayers, 4);
  config.take({"sliding_window_pattern"});
  const std::string letters = pattern->text();
  const std::size_t first = letters.find('G');
  if (first == std::string::npos || first + 1 != letters.size())
    refuse_config(*pattern, "a pattern of windows that does not end with its only G is");
  return static_cast<std::int64_t>(letters.size());
}

/// A number, or a list of one for each layer, all of them the same.
std::int64_t size_of_all_layers(HfReader& config, const char* name, std::int64_t limit,
                                std::int64_t fallback) {
  const Json* value = config.peek(name);
  if (value == nullptr || !value->is(Json::Kind::kList))
    return config.size({name}, limit, fallback);
  config.take({name});
  std::int64_t same = 0;
  for (const Json* of_layer : value->children()) {
    const std::int64_t n = of_layer->is(Json::Kind::kInteger) ? of_layer->integer() : 0;
    const bool first = of_layer == value->children().front();
    if (n < 1 || n > limit || (!first && n != same))
      refuse_config(*value, "a list of layers that differ is");
    same = n;
  }
  if (same == 0) refuse_config(*value, "an empty list of layers is");
  return same;
}

void refuse_flag(HfReader& config, const char* name, bool usual, const char* what) {
  const Json* key = config.take({name});
  const bool other = key != nullptr && key->is(Json::Kind::kBool) && key->boolean() != usual;
  if (other) refuse_config(*key, what);
}

Model read_glm_layers(HfReader& config) {
  Model m = read_llama_sizes(config, {151552, 4096, 13696, 40, 32, 2, 131072});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  m.qkv_bias = config.flag({"attention_bias"}, true);
  read_partial_rotation(m, config, {"partial_rotary_factor"}, 0.5);
  return m;
}

}  // namespace

/// Its multipliers of embedding, attention, branches and logits change no shape, and no kernel's
/// time.
Model read_granite(HfReader& config) {
  for (const char* name :
       {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"})
    config.take({name});
  Model m = read_kin(config, {32000, 4096, 11008, 32, 32, 0, 2048});
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  return m;
}

/// All layers have experts.
Model read_granite_moe(HfReader& config) {
  Model m = read_granite(config);
  read_experts_as_wide(m, config, {"num_local_experts"}, 8, 2);
  return m;
}

/// hpcai-tech/grok-1, configuration_grok1.py and modeling_grok1.py: norms of branches too, GELU in
/// gated experts. Left out are its multipliers and the caps of scores.
Model read_grok(HfReader& config) {
  Model m = read_llama_sizes(config, {131072, 6144, 32768, 64, 48, 8, 8192,
                                      /*tied_embeddings=*/true, "gelu"});
  read_head_dim(m, config);
  m.norm_position = NormPosition::kBoth;
  read_experts_as_wide(m, config, {"num_experts"}, 8, 2);
  for (const char* name : {"attn_output_multiplier", "max_attn_value", "embedding_multiplier_scale",
                           "output_multiplier_scale"})
    config.take({name});
  return m;
}

Model read_internlm2(HfReader& config) {
  Model m = read_kin(config, {103168, 4096, 11008, 32, 32, 0, 2048});
  m.qkv_bias = m.attention_output_bias = config.flag({"bias"}, true);
  return m;
}

Model read_internlm3(HfReader& config) {
  Model m = read_kin(config, {128512, 4096, 11008, 32, 32, 0, 32768});
  m.qkv_bias = config.flag({"qkv_bias"}, false);
  m.attention_output_bias = m.mlp_bias = config.flag({"bias"}, false);
  return m;
}

/// The 13-billion ones, of which no key tells but the width, have linear biases (ALiBi) in the
/// place of rotation: vllm/model_executor/models/baichuan.py, BaichuanForCausalLM.
Model read_baichuan(HfReader& config) {
  constexpr std::int64_t kRotatedWidth = 4096;
  const bool named = config.peek("max_position_embeddings") != nullptr;
  const std::int64_t longest = config.size({"model_max_length"}, kMaxPositions, 4096);
  Model m = read_kin(config, {125696, 4096, 11008, 32, 32, 0, longest});
  if (!named) m.max_positions = longest;
  if (m.hidden != kRotatedWidth) m.positions = PositionKind::kNone;
  config.take({"z_loss_weight"});
  return m;
}

/// EXAONE 3 and 3.5.
Model read_exaone(HfReader& config) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 102400);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 2048);
  m.ffn_hidden = config.size({"intermediate_size"}, kMaxWidth, 4 * m.hidden);
  m.layers = config.size({"num_layers", "num_hidden_layers"}, kMaxLayers, 32);
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, 32);
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads, m.heads);
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, 2048);
  m.activation = read_activation(config, {"activation_function"}, "silu");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  read_head_dim(m, config);
  read_dropout(m, config, {"attention_dropout"}, {}, 0);
  config.take({"embed_dropout"});
  return m;
}

/// Layers that see all tokens are rotated here, which of the windowed models' are not
/// (modeling_exaone4.py, Exaone4Attention).
Model read_exaone4(HfReader& config) {
  Model m = read_kin(config, {102400, 4096, 16384, 32, 32, 32, 2048});
  m.norm_position = NormPosition::kBranch;
  m.qk_norm = true;
  const Json* window = config.peek("sliding_window");
  const bool windowed = window == nullptr || !window->is(Json::Kind::kNull);
  const std::int64_t every = windowed ? pattern_length(config) : 0;
  if (!windowed) config.take({"sliding_window_pattern", "layer_types"});
  read_windows(m, config, {.window = 4096, .every = every});
  if (windowed) assume_rotation(m, config, m.layers - m.windowed_layers());
  return m;
}

/// Queries and keys are normalised behind their rotation, at the same cost.
Model read_hunyuan(HfReader& config) {
  Model m = read_kin(config, {290943, 4096, 11008, 32, 32, 0, 2048});
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  m.qk_norm = config.flag({"use_qk_norm"}, true);
  refuse_flag(config, "use_cla", false, "attention to the keys of another layer is");
  for (const char* name :
       {"attention_head_dim", "use_rotary_pos_emb", "add_classification_head", "eod_token_id"})
    config.take({name});
  return m;
}

/// All layers have experts, and one or more MLPs as wide as intermediate_size that every token sees
/// (vllm/model_executor/models/hunyuan_v1.py, HunYuanSparseMoeBlock).
Model read_hunyuan_moe(HfReader& config) {
  Model m = read_hunyuan(config);
  m.experts = size_of_all_layers(config, "num_experts", kMaxExperts, 1);
  m.experts_per_token = size_of_all_layers(config, "moe_topk", m.experts, 1);
  m.expert_ffn_hidden =
      size_of_all_layers(config, "moe_intermediate_size", kMaxWidth, m.ffn_hidden);
  m.shared_ffn_hidden =
      m.ffn_hidden * size_of_all_layers(config, "num_shared_expert", kMaxExperts, 1);
  for (const char* name : {"use_mixed_mlp_moe", "moe_drop_tokens",
                           "moe_random_routing_dropped_token", "moe_layer_num_skipped"})
    config.take({name});
  return m;
}

Model read_ernie(HfReader& config) {
  Model m =
      read_llama_sizes(config, {103424, 1024, 3072, 18, 16, 2, 131072, /*tied_embeddings=*/true});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  read_biases_everywhere(m, config);
  return m;
}

/// From a first layer on to the last one, all have experts or each n-th, counted from 1.
Model read_ernie_moe(HfReader& config) {
  Model m = read_kin(config, {103424, 2560, 12288, 28, 20, 4, 131072, /*tied_embeddings=*/true});
  read_biases_everywhere(m, config);
  m.experts = config.size({"moe_num_experts"}, kMaxExperts, 64);
  m.experts_per_token = config.size({"moe_k"}, m.experts, 6);
  m.expert_ffn_hidden = config.size({"moe_intermediate_size"}, kMaxWidth, 1536);
  m.shared_ffn_hidden =
      m.expert_ffn_hidden * config.count({"moe_num_shared_experts"}, kMaxExperts, 2);
  m.moe_every = config.size({"moe_layer_interval"}, kMaxLayers, 1);
  const std::int64_t first = config.count({"moe_layer_start_index"}, m.layers, 1);
  m.first_dense_layers = (first / m.moe_every + 1) * m.moe_every - 1;
  const Json* last = config.take({"moe_layer_end_index"});
  const bool ends = last != nullptr && last->is(Json::Kind::kInteger) && last->integer() >= 0 &&
                    last->integer() < m.layers - 1;
  if (ends) refuse_config(*last, "a last layer without experts behind ones with them is");
  for (const char* name : {"moe_norm_min", "moe_capacity", "moe_gate_act", "moe_gate",
                           "moe_use_aux_free", "moe_use_hard_gate"})
    config.take({name});
  return m;
}

Model read_chatglm(HfReader& config) {
  refuse_flag(config, "position_encoding_2d", false, "the first ChatGLM is");
  refuse_flag(config, "rmsnorm", true, "LayerNorm in this family is");
  refuse_flag(config, "apply_residual_connection_post_layernorm", false,
              "a residual branch from behind the norm is");
  Model m;
  m.vocab = config.size({"padded_vocab_size", "vocab_size"}, kMaxWidth, 65024);
  config.take({"vocab_size"});
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 4096);
  m.ffn_hidden = config.size({"ffn_hidden_size"}, kMaxWidth, 13696);
  m.layers = config.size({"num_layers", "num_hidden_layers"}, kMaxLayers, 28);
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, 32);
  const bool grouped = config.flag({"multi_query_attention"}, false);
  const std::int64_t groups = config.size({"multi_query_group_num"}, kMaxHeads, 1);
  m.kv_heads = grouped ? groups : m.heads;
  m.head_dim = config.size({"kv_channels"}, kMaxHeads, 128);
  m.rope_head_dim = m.head_dim / 2;
  m.max_positions = config.size({"seq_length"}, kMaxPositions, 2048);
  m.attention_output_bias = m.mlp_bias = config.flag({"add_bias_linear"}, false);
  m.qkv_bias = config.flag({"add_qkv_bias"}, false) || m.mlp_bias;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  for (const char* name :
       {"layernorm_epsilon", "attention_softmax_in_fp32", "apply_query_key_layer_scaling",
        "bias_dropout_fusion", "fp32_residual_connection", "original_rope", "post_layer_norm",
        "rope_ratio"})
    config.take({name});
  return m;
}

Model read_glm(HfReader& config) { return read_glm_layers(config); }

Model read_glm4(HfReader& config) {
  Model m = read_glm_layers(config);
  m.norm_position = NormPosition::kBoth;
  return m;
}

}  // namespace plait::hf
