// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// biases, norms and gates stand: modeling_<family>.py beside it. Left out are multipliers of
// embeddings, residual sums and logits, and how experts are scored and grouped.

#include "model/hf_hybrids.h"

#include "model/hf_parts.h"

namespace plait::hf {
namespace {

/// The mixer's sizes, which families call by other names.
struct MixerKeys {
  const char *state, *heads, *head_dim, *groups, *width, *chunk, *conv_bias, *bias;
};
struct MixerDefaults {
  std::int64_t state, heads, head_dim, groups, chunk;
};
constexpr MixerKeys kBambaKeys = {"mamba_d_state",   "mamba_n_heads",  "mamba_d_head",
                                  "mamba_n_groups",  "mamba_d_conv",   "mamba_chunk_size",
                                  "mamba_conv_bias", "mamba_proj_bias"};

/// "mamba_d_head": "auto" leaves it to the expanded width.
std::int64_t head_dim_of(const Model& m, HfReader& config, const MixerKeys& keys,
                         std::int64_t fallback) {
  const Json* stated = config.peek(keys.head_dim);
  if (stated == nullptr || !stated->is(Json::Kind::kText))
    return config.size({keys.head_dim}, kMaxHeads, fallback);
  config.take({keys.head_dim});
  return config.size({"mamba_expand"}, kMaxHeads, 2) * m.hidden / m.state_heads;
}

void read_mixer(Model& m, HfReader& config, const MixerKeys& keys, const MixerDefaults& defaults) {
  m.state_size = config.size({keys.state}, kMaxWidth, defaults.state);
  m.state_heads = config.size({keys.heads}, kMaxHeads, defaults.heads);
  m.state_head_dim = head_dim_of(m, config, keys, defaults.head_dim);
  m.state_groups = config.size({keys.groups}, kMaxHeads, defaults.groups);
  m.conv_width = config.size({keys.width}, kMaxHeads, 4);
  m.scan_chunk = config.size({keys.chunk}, kMaxPositions, defaults.chunk);
  if (!config.flag({keys.conv_bias}, true))
    refuse_config(*config.take({keys.conv_bias}), "a convolution without biases is");
  if (config.flag({keys.bias}, false))
    refuse_config(*config.take({keys.bias}), "a state-space mixer with biases of its products is");
  for (const char* name :
       {"expand", "mamba_expand", "rms_norm", "time_step_min", "time_step_max", "time_step_limit",
        "time_step_floor", "time_step_rank", "residual_in_fp32", "rescale_prenorm_residual",
        "use_mamba_kernels", "num_logits_to_keep", "mamba_ssm_cache_dtype", "mamba_hidden_act"})
    config.take({name});
}

void read_attention(Model& m, HfReader& config, std::int64_t heads, std::int64_t kv_heads) {
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, heads);
  m.kv_heads = config.size({"num_key_value_heads"}, kMaxHeads, kv_heads);
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, 4096);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
}

void read_pattern(Model& m, HfReader& config) {
  const Json* pattern = config.take({"hybrid_override_pattern"});
  const Json* list = config.take({"layers_block_type", "layer_types"});
  if (pattern != nullptr && pattern->is(Json::Kind::kText)) {
    m.layer_pattern = pattern->text();
  } else if (list != nullptr && list->is(Json::Kind::kList)) {
    m.layer_pattern = letters_of(*list, "M", "*");
  } else {
    m.layer_pattern = "ME*-";
    config.assume("hybrid_override_pattern", m.layer_pattern);
  }
  config.take({"num_hidden_layers"});
  m.layers = static_cast<std::int64_t>(m.layer_pattern.size());
}

/// Nemotron 3: experts without a gate beside one that every token sees.
void read_nemotron_experts(Model& m, HfReader& config) {
  const auto refuse_above_0 = [&config](const char* name, const char* what) {
    const Json* key = config.take({name});
    const bool set = key != nullptr && key->is(Json::Kind::kInteger) && key->integer() > 0;
    if (set) refuse_config(*key, what);
  };
  refuse_above_0("num_nextn_predict_layers", "multi-token prediction in a hybrid is");
  refuse_above_0("moe_latent_size", "experts of a latent are");
  if (m.layer_pattern.find('E') == std::string::npos) {
    for (const char* name : {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
                             "n_shared_experts", "moe_shared_expert_intermediate_size"})
      config.take({name});
    return;
  }
  m.experts = config.size({"n_routed_experts", "num_local_experts"}, kMaxExperts, 8);
  m.experts_per_token = config.size({"num_experts_per_tok"}, m.experts, 2);
  m.expert_ffn_hidden = config.size({"moe_intermediate_size"}, kMaxWidth, 7688);
  m.shared_ffn_hidden = config.size({"n_shared_experts"}, kMaxExperts, 1) *
                        config.size({"moe_shared_expert_intermediate_size"}, kMaxWidth, 7688);
}

}  // namespace

/// State-space layers alone. Attention's heads, which no layer has, are one.
Model read_mamba2(HfReader& config) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 32768);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 4096);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, 64);
  m.layer_pattern = std::string(static_cast<std::size_t>(m.layers), 'M');
  read_mixer(m, config,
             {"state_size", "num_heads", "head_dim", "n_groups", "conv_kernel", "chunk_size",
              "use_conv_bias", "use_bias"},
             {128, 128, 64, 8, 256});
  m.heads = m.kv_heads = 1, m.head_dim = m.hidden, m.ffn_hidden = m.hidden;
  m.positions = PositionKind::kNone;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  config.take({"hidden_act"});
  return m;
}

/// Each layer has one part; no positions.
Model read_nemotron_h(HfReader& config) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 131072);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 4096);
  m.ffn_hidden = config.size({"intermediate_size"}, kMaxWidth, 21504);
  read_pattern(m, config);
  read_attention(m, config, 32, 8);
  m.head_dim = config.size({"head_dim", "attention_head_dim"}, kMaxHeads, 128);
  read_mixer(m, config,
             {"ssm_state_size", "mamba_num_heads", "mamba_head_dim", "n_groups", "conv_kernel",
              "chunk_size", "use_conv_bias", "mamba_proj_bias"},
             {128, 128, 64, 8, 128});
  if (config.flag({"use_bias"}, false))
    refuse_config(*config.take({"use_bias"}), "a state-space mixer with biases of its products is");
  m.activation = read_activation(config, {"mlp_hidden_act"}, "relu2");
  config.take({"hidden_act"});
  m.gated_mlp = false;
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  m.positions = PositionKind::kNone;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  read_dropout(m, config, {"attention_dropout"}, {"hidden_dropout"}, 0);
  read_nemotron_experts(m, config);
  return m;
}

/// A mixer or attention, and an MLP behind it, in each layer.
Model read_bamba(HfReader& config) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 128000);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 4096);
  m.ffn_hidden = config.size({"intermediate_size"}, kMaxWidth, 14336);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, 32);
  m.layer_pattern = std::string(static_cast<std::size_t>(m.layers), 'm');
  const Json* attention = config.take({"attn_layer_indices"});
  if (attention != nullptr && attention->is(Json::Kind::kList)) {
    for (const Json* layer : attention->children()) {
      const bool known =
          layer->is(Json::Kind::kInteger) && layer->integer() >= 0 && layer->integer() < m.layers;
      if (!known) refuse_config(*layer, "attention in a layer that there is not is");
      m.layer_pattern[static_cast<std::size_t>(layer->integer())] = 'a';
    }
  }
  read_attention(m, config, 32, 8);
  read_head_dim(m, config);
  read_mixer(m, config, kBambaKeys, {256, 128, 64, 1, 256});
  m.activation = read_activation(config, {"hidden_act"}, "silu");
  m.mlp_bias = config.flag({"mlp_bias"}, false);
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  read_dropout(m, config, {"attention_dropout"}, {}, 0);
  return m;
}

/// Granite 4: as Bamba, with positions or without. The MLP is `shared_intermediate_size` wide,
/// beside experts where there are any.
Model read_granite_hybrid(HfReader& config) {
  Model m;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, 32000);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 4096);
  const std::int64_t expert = config.size({"intermediate_size"}, kMaxWidth, 11008);
  const std::int64_t shared = config.size({"shared_intermediate_size"}, kMaxWidth, 1024);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, 32);
  m.layer_pattern = std::string(static_cast<std::size_t>(m.layers), 'm');
  const Json* types = config.take({"layer_types", "layers_block_type"});
  if (types != nullptr && types->is(Json::Kind::kList))
    m.layer_pattern = letters_of(*types, "m", "a");
  read_attention(m, config, 32, 32);
  read_head_dim(m, config);
  read_mixer(m, config, kBambaKeys, {256, 128, 64, 1, 256});
  m.ffn_hidden = shared;
  m.activation = read_activation(config, {"hidden_act"}, "silu");
  m.experts = config.count({"num_local_experts"}, kMaxExperts, 8);
  const std::int64_t chosen = config.count({"num_experts_per_tok"}, kMaxExperts, 2);
  if (m.experts > 0) {
    m.experts_per_token = chosen, m.expert_ffn_hidden = expert, m.shared_ffn_hidden = shared;
  }
  m.layers = static_cast<std::int64_t>(m.layer_pattern.size());
  const bool rotated = config.word({"position_embedding_type"}, "nope") == "rope";
  m.positions = rotated ? PositionKind::kRotary : PositionKind::kNone;
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, false);
  read_dropout(m, config, {"attention_dropout"}, {}, 0);
  return m;
}

}  // namespace plait::hf
