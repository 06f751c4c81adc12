// Class defaults: transformers src/transformers/models/<family>/configuration_<family>.py. Where
// biases and norms stand: modeling_<family>.py beside it.

#include "model/hf_encoders.h"

#include "model/hf_parts.h"

namespace plait::hf {
namespace {

constexpr std::int64_t kMaxTypes = 1 << 16;

/// Distances between tokens enter attention (relative_key, relative_key_query) or the model reads
/// another one's states.
void refuse_other_encoders(HfReader& config) {
  const Json* positions = config.take({"position_embedding_type"});
  const bool stated = positions != nullptr && positions->is(Json::Kind::kText);
  if (stated && positions->text() != "absolute")
    refuse_config(*positions, "attention to relative positions is");
  for (const char* name : {"is_decoder", "add_cross_attention"}) {
    const Json* key = config.take({name});
    if (key != nullptr && key->is(Json::Kind::kBool) && key->boolean())
      refuse_config(*key, "an encoder's layer as a decoder is");
  }
}

Model read_encoder(HfReader& config, std::int64_t vocab) {
  refuse_other_encoders(config);
  Model m = layer_norm_model();
  m.causal = false;
  m.norm_position = NormPosition::kPost;
  m.embedding_norm = m.masked_lm_head = true;
  m.vocab = config.size({"vocab_size"}, kMaxWidth, vocab);
  m.hidden = config.size({"hidden_size"}, kMaxWidth, 768);
  m.layers = config.size({"num_hidden_layers"}, kMaxLayers, 12);
  m.heads = config.size({"num_attention_heads"}, kMaxHeads, 12);
  m.kv_heads = m.heads;
  m.ffn_hidden = config.size({"intermediate_size"}, kMaxWidth, 3072);
  m.positions = PositionKind::kLearned;
  m.max_positions = config.size({"max_position_embeddings"}, kMaxPositions, 512);
  m.token_types = config.count({"type_vocab_size"}, kMaxTypes, 2);
  read_head_dim(m, config);
  m.activation = read_activation(config, {"hidden_act"}, "gelu");
  m.tied_embeddings = config.flag({"tie_word_embeddings"}, true);
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  read_dropout(m, config, {"attention_probs_dropout_prob"}, {"hidden_dropout_prob"}, 0.1);
  return m;
}

}  // namespace

Model read_bert(HfReader& config) { return read_encoder(config, 30522); }
Model read_roberta(HfReader& config) { return read_encoder(config, 50265); }

}  // namespace plait::hf
