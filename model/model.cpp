#include "model/model.h"

namespace plait {
namespace {

/// A linear map (in, out), row-major weight plus an optional bias of its outputs.
std::int64_t linear(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

}  // namespace

std::int64_t Model::moe_layers() const {
  if (experts == 0 || layers <= first_dense_layers) return 0;
  return (layers - first_dense_layers + moe_every - 1) / moe_every;
}

std::int64_t Model::windowed_layers() const {
  std::int64_t n = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) n += has_window(layer) ? 1 : 0;
  return n;
}

std::int64_t Model::attention_weights() const {
  const std::int64_t out = context_width() * hidden;
  if (!latent_attention()) return hidden * qkv_width() + out;
  const std::int64_t queries =
      q_lora_rank > 0 ? q_lora_rank * (hidden + query_width()) : hidden * query_width();
  const std::int64_t keys_and_values =
      hidden * (kv_lora_rank + rope_head_dim) + kv_lora_rank * kv_up_width();
  return queries + keys_and_values + out;
}

ParameterCount count_parameters(const Model& model) {
  const std::int64_t h = model.hidden;
  const std::int64_t vectors = model.norm_bias() ? 2 : 1;  // gamma, beta
  const std::int64_t norm = h * vectors;
  const std::int64_t token_table = model.vocab * h;
  const bool learned = model.positions == PositionKind::kLearned;

  ParameterCount count;
  count.embedding = token_table + (learned ? model.max_positions * h : 0) + model.token_types * h +
                    (model.embedding_norm ? norm : 0);
  const std::int64_t of_latents = (model.q_lora_rank + model.kv_lora_rank) * vectors;
  const std::int64_t around =
      2 * norm + of_latents + model.attention_weights() + (model.qkv_bias ? model.qkv_width() : 0) +
      (model.qk_norm ? 2 * model.head_dim : 0) + (model.attention_output_bias ? h : 0);
  const auto mlp = [&](std::int64_t width) {
    return linear(h, model.mlp_input_width(width), model.mlp_bias) +
           linear(width, h, model.mlp_bias);
  };
  const std::int64_t expert = mlp(model.expert_ffn_hidden);
  const std::int64_t shared = model.shared_ffn_hidden > 0 ? mlp(model.shared_ffn_hidden) : 0;
  const std::int64_t routed = around + model.experts * h + shared;
  count.layer = around + mlp(model.ffn_hidden);
  if (model.experts > 0) {
    count.moe_layer = routed + model.experts * expert;
    count.active_moe_layer = routed + model.experts_per_token * expert;
  }
  count.head = (model.has_final_norm() ? norm : 0) + (model.tied_embeddings ? 0 : token_table) +
               (model.masked_lm_head ? linear(h, h, true) + norm + model.vocab : 0);
  if (model.mtp_layers > 0) {
    count.mtp = 3 * norm + linear(2 * h, h, false) +
                (model.mtp_has_experts() ? count.moe_layer : count.layer);
  }
  return count;
}

}  // namespace plait
