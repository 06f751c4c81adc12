#include "realrun/matrix/models.h"

namespace plait::matrix_models {
namespace {

Model with_latents(Model m) {
  // Of whole vectors, as the device's attention wants them.
  m.kv_heads = m.heads, m.head_dim = 16 + 8, m.rope_head_dim = 8, m.v_head_dim = 32;
  m.q_lora_rank = 24, m.kv_lora_rank = 16;
  return m;
}

/// Four heads in two groups, whose states pass between two chunks of a sequence.
Model with_states(Model m, const char* name, const char* pattern) {
  m.name = name, m.layer_pattern = pattern;
  m.layers = static_cast<std::int64_t>(m.layer_pattern.size());
  m.positions = PositionKind::kNone;
  m.state_size = 8, m.state_heads = 4, m.state_head_dim = 8, m.state_groups = 2;
  m.conv_width = 3, m.scan_chunk = 5;
  return m;
}

}  // namespace

Model llama() {
  Model m;
  m.name = "llama";
  m.layers = 2, m.hidden = 32, m.heads = 4, m.kv_heads = 2, m.head_dim = 8;
  m.ffn_hidden = 64, m.vocab = 32, m.max_positions = kSequence;
  return m;
}

Model gpt() {
  Model m = llama();
  m.name = "gpt", m.kv_heads = 4;
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  m.positions = PositionKind::kLearned, m.tied_embeddings = true;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  m.dropout = 0.1;
  return m;
}

Model qwen() {
  Model m = llama();
  m.name = "qwen", m.qkv_bias = true, m.tied_embeddings = true;
  return m;
}

Model falcon() {
  Model m = llama();
  m.name = "falcon", m.parallel_attention = true, m.head_dim = 8;
  m.norm = NormKind::kLayerNorm, m.activation = ActivationKind::kGelu, m.gated_mlp = false;
  return m;
}

Model falcon_7b() {
  Model m = falcon();
  m.name = "falcon 7b", m.shared_norm = m.tied_embeddings = true;
  return m;
}

Model gpt_neox() {
  Model m = falcon();
  m.name = "gpt-neox", m.rope_head_dim = 4, m.kv_heads = 4;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true, m.dropout = 0.1;
  return m;
}

Model phi() {
  Model m = gpt_neox();
  m.name = "phi", m.shared_norm = m.output_bias = true;
  return m;
}

Model plain() {
  Model m = llama();
  m.name = "plain", m.positions = PositionKind::kNone, m.activation = ActivationKind::kGelu;
  m.gated_mlp = false, m.kv_heads = 4, m.dropout = 0.2;
  return m;
}

Model relu() {
  Model m = plain();
  m.name = "relu", m.activation = ActivationKind::kRelu;
  return m;
}

Model mixtral() {
  Model m = llama();
  m.name = "mixtral";
  m.experts = 4, m.experts_per_token = 2, m.expert_ffn_hidden = 16;
  return m;
}

Model deepseek() {
  Model m = mixtral();
  m.name = "deepseek";
  m.layers = 3, m.first_dense_layers = 1, m.shared_ffn_hidden = 16;
  return m;
}

Model qwen3() {
  Model m = llama();
  m.name = "qwen3", m.qk_norm = true;
  return m;
}

Model qwen3_moe() {
  Model m = mixtral();
  m.name = "qwen3 moe", m.qk_norm = true;
  return m;
}

Model mistral() {
  Model m = llama();
  m.name = "mistral", m.attention_window = 3;
  return m;
}

Model gemma() {
  Model m = mistral();
  m.name = "gemma 2", m.full_attention_every = 2;
  m.norm_position = NormPosition::kBoth;
  return m;
}

Model olmo_2() {
  Model m = llama();
  m.name = "olmo 2", m.qk_norm = m.qk_norm_across_heads = true;
  m.norm_position = NormPosition::kBranch;
  return m;
}

Model gpt_oss() {
  Model m = mixtral();
  m.name = "gpt-oss", m.attention_window = 2, m.full_attention_first = 1;
  return m;
}

Model latent() {
  Model m = with_latents(llama());
  m.name = "latent";
  return m;
}

Model latent_keys() {
  Model m = latent();
  m.name = "latent keys", m.q_lora_rank = 0;
  return m;
}

Model deepseek_v3() {
  Model m = with_latents(deepseek());
  m.name = "deepseek-v3";
  return m;
}

Model nemotron_h() {
  Model m = with_states(llama(), "nemotron-h", "M*-");
  m.gated_mlp = false, m.activation = ActivationKind::kGelu;
  return m;
}

Model granite() {
  Model m = with_states(llama(), "granite", "ma");
  m.tied_embeddings = true;
  return m;
}

Model nemotron_moe() { return with_states(mixtral(), "nemotron moe", "ME"); }

Model mamba2() {
  Model m = with_states(llama(), "mamba2", "MM");
  m.tied_embeddings = true, m.state_groups = 1;
  return m;
}

Model qwen3_next() {
  Model m = with_states(qwen3_moe(), "qwen3-next", "ga");
  m.positions = PositionKind::kRotary, m.rope_head_dim = 4;
  m.shared_ffn_hidden = 16, m.attention_gate = m.shared_expert_gate = true;
  return m;
}

Model qwen3_5() {
  Model m = with_states(qwen3(), "qwen3.5", "gga");
  m.positions = PositionKind::kRotary, m.rope_head_dim = 4, m.attention_gate = true;
  m.tied_embeddings = true;
  return m;
}

Model delta_net() {
  Model m = with_states(llama(), "delta net", "GG");
  m.state_groups = 1;
  return m;
}

Model megatron_bert() {
  Model m = gpt();
  m.name = "megatron bert", m.causal = false, m.token_types = 2, m.masked_lm_head = true;
  return m;
}

Model bert() {
  Model m = megatron_bert();
  m.name = "bert", m.norm_position = NormPosition::kPost, m.embedding_norm = true;
  return m;
}

Model all_experts() {
  Model m = mixtral();
  m.name = "all experts", m.experts_per_token = 4;
  return m;
}

}  // namespace plait::matrix_models
