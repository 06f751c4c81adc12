#include "plan/require_model.h"

#include "plan/refusal.h"

namespace plait {
namespace {

void require_heads_and_norms(const Model& m) {
  if (m.heads % m.kv_heads != 0) {
    throw refusal("S040",
                  std::to_string(m.heads) + " query heads cannot share " +
                      std::to_string(m.kv_heads) + " key-value heads evenly",
                  "model.kv_heads", "a divisor of model.heads", "change model.kv_heads",
                  {"model.heads"});
  }
  if (m.shared_norm && !m.parallel_attention) {
    throw refusal("S146", "attention and MLP one behind the other have a norm each",
                  "model.shared_norm", "false without model.parallel_attention",
                  "remove it, or set model.parallel_attention to true",
                  {"model.parallel_attention"});
  }
  if (m.qk_norm_across_heads && !m.qk_norm) {
    throw refusal("S147", "no norm of queries and keys is there to span all heads",
                  "model.qk_norm_across_heads", "false without model.qk_norm",
                  "remove it, or set model.qk_norm to true", {"model.qk_norm"});
  }
}

/// Without latents: a rotation of some columns of each head.
void require_partial_rotation(const Model& m) {
  if (m.rope_head_dim == 0) return;
  const bool fits = m.rope_head_dim % 2 == 0 && m.rope_head_dim < m.head_dim;
  if (fits && m.positions == PositionKind::kRotary) return;
  throw refusal("S125",
                std::to_string(m.rope_head_dim) + " rotated columns of the " +
                    std::to_string(m.head_dim) + " of a head",
                "model.rope_head_dim",
                "0, for all, or an even number below model.head_dim with model.positions = "
                "\"rotary\"",
                "correct it", {"model.head_dim", "model.positions"});
}

void require_latents(const Model& m) {
  if (!m.latent_attention()) {
    require_partial_rotation(m);
    if (m.q_lora_rank == 0 && m.v_head_dim == 0) return;
    throw refusal("S120",
                  "a latent of the queries, or values of another width, belong to multi-head "
                  "latent attention",
                  "model.kv_lora_rank", "1 or more with model.q_lora_rank or model.v_head_dim",
                  "set model.kv_lora_rank, or these two to 0",
                  {"model.q_lora_rank", "model.v_head_dim"});
  }
  const bool fits = m.kv_heads == m.heads && m.rope_head_dim > 0 && m.rope_head_dim % 2 == 0 &&
                    m.rope_head_dim < m.head_dim;
  if (!fits) {
    throw refusal("S121",
                  "latent attention with " + std::to_string(m.heads) + " heads, " +
                      std::to_string(m.kv_heads) + " key-value heads and " +
                      std::to_string(m.rope_head_dim) + " rotated columns of " +
                      std::to_string(m.head_dim),
                  "model.rope_head_dim",
                  "as many key-value heads as heads, and an even number of columns below "
                  "model.head_dim",
                  "correct model.kv_heads and model.rope_head_dim",
                  {"model.heads", "model.kv_heads", "model.head_dim"});
  }
  const char* other = m.attention_window > 0                 ? "model.attention_window"
                      : m.qk_norm                            ? "model.qk_norm"
                      : m.qkv_bias                           ? "model.qkv_bias"
                      : m.positions != PositionKind::kRotary ? "model.positions"
                                                             : nullptr;
  if (other != nullptr) {
    throw refusal("S122",
                  "latent attention is planned with rotary positions, without biases, norms of "
                  "heads and windows",
                  other,
                  "model.positions = \"rotary\", model.qkv_bias = false, model.qk_norm = false, "
                  "model.attention_window = 0",
                  "change it", {"model.kv_lora_rank"});
  }
}

void require_experts(const Model& m) {
  if (m.experts == 0) return;
  if (m.experts_per_token < 1 || m.experts_per_token > m.experts || m.expert_ffn_hidden < 1 ||
      m.moe_every < 1 || m.first_dense_layers < 0) {
    throw refusal("S090",
                  "a mixture of " + std::to_string(m.experts) + " experts of width " +
                      std::to_string(m.expert_ffn_hidden) + " of which a token meets " +
                      std::to_string(m.experts_per_token),
                  "model.experts_per_token",
                  "1 to model.experts of them, with model.expert_ffn_hidden and model.moe_every at "
                  "least 1",
                  "set model.experts_per_token and model.expert_ffn_hidden",
                  {"model.experts", "model.expert_ffn_hidden", "model.moe_every"});
  }
  if (m.mlp_bias || m.parallel_attention) {
    throw refusal("S091", "experts are planned without biases, behind attention",
                  m.mlp_bias ? "model.mlp_bias" : "model.parallel_attention", "false with experts",
                  "switch it off", {"model.experts"});
  }
}

/// The residual sum adds biases and drops out; a norm of what a branch adds stands before it.
void require_branch_norms(const Model& m) {
  if (!m.has_branch_norms()) return;
  const char* other = m.parallel_attention                    ? "model.parallel_attention"
                      : m.attention_output_bias || m.mlp_bias ? "model.mlp_bias"
                      : m.dropout > 0                         ? "model.dropout"
                                                              : nullptr;
  if (other == nullptr) return;
  throw refusal("S145",
                "norms of what attention and MLP add are planned one behind the other, without "
                "biases and dropout",
                other,
                "model.parallel_attention = false, attention_output_bias = false, mlp_bias = "
                "false, dropout = 0",
                "change it, or set model.norm_position to \"pre\"", {"model.norm_position"});
}

}  // namespace

void require_model(const Model& model) {
  require_heads_and_norms(model);
  require_latents(model);
  require_experts(model);
  require_branch_norms(model);
}

}  // namespace plait
