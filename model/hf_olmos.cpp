// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// norms stand: modeling_<family>.py beside it (Olmo2DecoderLayer, Olmo2Attention).

#include "model/hf_olmos.h"

#include "model/hf_parts.h"
#include "model/hf_windows.h"

namespace plait::hf {
namespace {

Model read_olmo(HfReader& config, const LlamaDefaults& defaults) {
  Model m = read_llama_sizes(config, defaults);
  read_head_dim(m, config);
  m.qkv_bias = m.attention_output_bias = config.flag({"attention_bias"}, false);
  m.qk_norm = m.qk_norm_across_heads = true;
  return m;
}

}  // namespace

Model read_olmo2(HfReader& config) {
  Model m = read_olmo(config, {50304, 4096, 11008, 32, 32, 0, 2048});
  m.norm_position = NormPosition::kBranch;
  return m;
}

Model read_olmo3(HfReader& config) {
  Model m = read_olmo2(config);
  read_windows(m, config, {.window = 4096, .every = 4});
  return m;
}

/// Norms in front, and experts in every layer.
Model read_olmoe(HfReader& config) {
  Model m = read_olmo(config, {50304, 2048, 2048, 16, 16, 0, 4096});
  read_experts_as_wide(m, config, {"num_experts"}, 64, 8);
  const Json* clip = config.take({"clip_qkv"});
  if (clip != nullptr && !clip->is(Json::Kind::kNull))
    refuse_config(*clip, "clipping of queries, keys and values is");
  return m;
}

}  // namespace plait::hf
