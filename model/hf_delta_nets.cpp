// Class defaults: transformers src/transformers/models/qwen3_next/configuration_qwen3_next.py,
// qwen3_5/configuration_qwen3_5.py and qwen3_5_moe/configuration_qwen3_5_moe.py, of the text's
// part. Where biases, norms and gates stand: modeling_<family>.py beside them. Left out are a
// vision tower and how experts are scored and balanced.

#include "model/hf_delta_nets.h"

#include "model/hf_parts.h"

namespace plait::hf {
namespace {

/// Tokens of a chunk: flash-linear-attention, fla/ops/gated_delta_rule/chunk.py, chunk_size.
constexpr std::int64_t kDeltaChunk = 64;

void read_nets(Model& m, HfReader& config) {
  m.state_groups = config.size({"linear_num_key_heads"}, kMaxHeads, 16);
  m.state_heads = config.size({"linear_num_value_heads"}, kMaxHeads, 32);
  m.state_size = config.size({"linear_key_head_dim"}, kMaxHeads, 128);
  m.state_head_dim = config.size({"linear_value_head_dim"}, kMaxHeads, 128);
  m.conv_width = config.size({"linear_conv_kernel_dim"}, kMaxHeads, 4);
  m.scan_chunk = kDeltaChunk;
  config.take({"mamba_ssm_dtype"});  // of a state in generation
}

/// Each full_attention_interval-th layer, counted from 1, has attention, unless a list names them.
void read_net_pattern(Model& m, HfReader& config) {
  const Json* list = config.take({"layer_types"});
  const std::int64_t every = config.peek("full_attention_interval") == nullptr
                                 ? 4
                                 : config.size({"full_attention_interval"}, kMaxLayers, 4);
  if (list != nullptr && list->is(Json::Kind::kList)) {
    m.layer_pattern = letters_of(*list, "g", "a");
    m.layers = static_cast<std::int64_t>(m.layer_pattern.size());
    return;
  }
  for (std::int64_t l = 1; l <= m.layers; ++l) m.layer_pattern += l % every == 0 ? 'a' : 'g';
}

Model read_gated(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_sizes(config, defaults);
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 256);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = true;
  const Json* gate = config.take({"attn_output_gate"});  // the classes have it always
  if (gate != nullptr && gate->is(Json::Kind::kBool) && !gate->boolean())
    refuse_config(*gate, "attention without its gate in this family is");
  m.attention_gate = true;
  read_partial_rotation(m, config, {"partial_rotary_factor"}, 0.25);
  read_net_pattern(m, config);
  read_nets(m, config);
  if (config.peek("mtp_num_hidden_layers") != nullptr)
    m.mtp_layers = config.count({"mtp_num_hidden_layers"}, kMaxModules, 0);
  const Json* own = config.take({"mtp_use_dedicated_embeddings"});
  if (own != nullptr && own->is(Json::Kind::kBool) && own->boolean())
    refuse_config(*own, "multi-token prediction with an embedding of its own is");
  return m;
}

void read_gated_experts(Model& m, HfReader& config, std::int64_t experts, std::int64_t chosen) {
  read_qwen_experts(m, config, experts, chosen, 512);
  m.shared_ffn_hidden = config.count({"shared_expert_intermediate_size"}, kMaxWidth, 512);
  m.shared_expert_gate = m.shared_ffn_hidden > 0;
}

}  // namespace

Model read_qwen3_next(HfReader& config) {
  Model m = read_gated(config, {151936, 2048, 5632, 48, 16, 2, 32768});
  read_gated_experts(m, config, 512, 10);
  return m;
}

Model read_qwen3_5(HfReader& config) {
  return read_gated(config, {248320, 4096, 12288, 32, 16, 4, 32768});
}

/// No layer has an MLP of its own.
Model read_qwen3_5_moe(HfReader& config) {
  Model m = read_gated(config, {248320, 2048, 512, 40, 16, 2, 32768});
  read_gated_experts(m, config, 256, 8);
  return m;
}

}  // namespace plait::hf
