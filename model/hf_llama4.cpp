// transformers: models/llama4/configuration_llama4.py and modeling_llama4.py.
#include "model/hf_llama4.h"

#include <cstddef>
#include <vector>

#include "model/hf_parts.h"
#include "model/hf_windows.h"
#include "model/window_layers.h"

namespace plait::hf {
namespace {

/// Layers, counted from 1, whose number is a multiple of the step have experts.
void read_step(Model& m, HfReader& config) {
  m.moe_every = config.size({"interleave_moe_layer_step"}, kMaxLayers, 1);
  m.first_dense_layers = m.moe_every - 1;
  const Json* listed = config.take({"moe_layers"});
  if (listed == nullptr || !listed->is(Json::Kind::kList)) return;
  std::vector<std::int64_t> by_step;
  for (std::int64_t i = 0; i < m.layers; ++i)
    if (m.has_experts(i)) by_step.push_back(i);
  bool same = listed->children().size() == by_step.size();
  for (std::size_t i = 0; same && i < by_step.size(); ++i) {
    const Json& index = *listed->children()[i];
    same = index.is(Json::Kind::kInteger) && index.integer() == by_step[i];
  }
  if (!same) refuse_config(*listed, "experts in layers that follow no step are");
}

/// Layers without rotation see all tokens; a list has 1 where positions rotate.
void read_unrotated(Model& m, const Json& rotated) {
  std::vector<bool> chunked;
  for (const Json* layer : rotated.children()) chunked.push_back(rotates(*layer));
  set_windowed_layers(m, rotated, chunked);
}

void read_chunks(Model& m, HfReader& config) {
  const Json* size = config.peek("attention_chunk_size");
  if (size != nullptr && size->is(Json::Kind::kNull)) return;
  // By a copy of the reader, in whose books alone the key is used.
  m.attention_window = HfReader(config).size({"attention_chunk_size"}, kMaxPositions, 8192);
  const Json* rotated = config.peek("no_rope_layers");
  const Json* types = config.take({"layer_types"});
  if (types != nullptr && types->is(Json::Kind::kList)) {
    read_layer_types(m, *types, "chunked_attention");
  } else if (rotated != nullptr && rotated->is(Json::Kind::kList) && !rotated->children().empty()) {
    read_unrotated(m, *rotated);
  } else {
    m.full_attention_every = config.size({"no_rope_layer_interval"}, kMaxLayers, kUnrotatedEvery);
  }
  forget_unused_window(m);
}

}  // namespace

Model read_llama4(HfReader& config) {
  Model m = read_llama_sizes(config, {202048, 5120, 8192, 48, 40, 8, 131072});
  m.head_dim = config.size({"head_dim"}, kMaxHeads, 128);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = config.flag({"use_qk_norm"}, true);
  read_experts_as_wide(m, config, {"num_local_experts"}, 16, 1);
  m.shared_ffn_hidden = m.expert_ffn_hidden;
  m.ffn_hidden = config.size({"intermediate_size_mlp"}, kMaxWidth, 16384);
  read_step(m, config);
  read_chunks(m, config);
  assume_rotation(m, config, unrotated_layers(m, config));
  // They scale what is there.
  for (const char* name : {"attn_temperature_tuning", "floor_scale", "attn_scale",
                           "router_jitter_noise", "for_llm_compressor"})
    config.take({name});
  return m;
}

}  // namespace plait::hf
