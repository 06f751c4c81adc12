#pragma once
// Models small enough to run many times.

#include "plan/plan.h"

namespace plait {

inline Model small_llama() {
  Model m;
  m.name = "llama";
  m.layers = 2, m.hidden = 16, m.heads = 4, m.kv_heads = 4, m.head_dim = 4;
  m.ffn_hidden = 32, m.vocab = 32, m.max_positions = 8;
  return m;
}
/// Tied, with biases and dropout.
inline Model small_gpt() {
  Model m = small_llama();
  m.name = "gpt";
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.dropout = 0.1;
  return m;
}
inline Workload small_workload() {
  Workload w;
  w.sequence_length = 8, w.global_batch = 8;
  return w;
}

}  // namespace plait
