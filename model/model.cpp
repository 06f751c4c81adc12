#include "model/model.h"

namespace plait {
namespace {

/// A linear map (in, out), row-major weight plus an optional bias of its outputs.
std::int64_t linear(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

std::int64_t mlp(const Model& model, std::int64_t width) {
  return linear(model.hidden, model.mlp_input_width(width), model.mlp_bias) +
         linear(width, model.hidden, model.mlp_bias);
}

/// `norms`: of the branch.
void count_experts(const Model& model, std::int64_t norms, ParameterCount& count) {
  const std::int64_t expert = mlp(model, model.expert_ffn_hidden);
  const std::int64_t shared = model.shared_ffn_hidden > 0 ? mlp(model, model.shared_ffn_hidden) +
                                                                model.shared_gate_weights()
                                                          : 0;
  const std::int64_t routed = norms + model.experts * model.hidden + shared;
  count.experts = routed + model.experts * expert;
  count.active_experts = routed + model.experts_per_token * expert;
  count.moe_layer = count.attention + count.experts;
  count.active_moe_layer = count.attention + count.active_experts;
}

template <class F>
std::int64_t count_layers(const Model& m, F&& has) {
  std::int64_t n = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) n += has(layer) ? 1 : 0;
  return n;
}

}  // namespace

LayerParts Model::parts_of(std::int64_t layer) const {
  const FeedForward behind = meets_experts(layer) ? FeedForward::kExperts : FeedForward::kMlp;
  if (layer_pattern.empty()) return {Mixer::kAttention, behind};
  switch (layer_pattern.at(static_cast<std::size_t>(layer))) {
    case 'M': return {Mixer::kStateSpace, FeedForward::kNone};
    case 'G': return {Mixer::kDeltaNet, FeedForward::kNone};
    case '*': return {Mixer::kAttention, FeedForward::kNone};
    case '-': return {Mixer::kNone, FeedForward::kMlp};
    case 'E': return {Mixer::kNone, FeedForward::kExperts};
    case 'm': return {Mixer::kStateSpace, behind};
    case 'g': return {Mixer::kDeltaNet, behind};
    default: return {Mixer::kAttention, behind};
  }
}

std::int64_t Model::moe_layers() const {
  if (experts == 0) return 0;
  if (!layer_pattern.empty())
    return count_layers(*this, [this](std::int64_t l) { return has_experts(l); });
  if (layers <= first_dense_layers) return 0;
  return (layers - first_dense_layers + moe_every - 1) / moe_every;
}

std::int64_t Model::dense_layers() const {
  if (layer_pattern.empty()) return layers - moe_layers();
  return count_layers(
      *this, [this](std::int64_t l) { return parts_of(l).feed_forward == FeedForward::kMlp; });
}

std::int64_t Model::layers_with(Mixer mixer) const {
  if (layer_pattern.empty()) return mixer == Mixer::kAttention ? layers : 0;
  return count_layers(*this, [&](std::int64_t l) { return parts_of(l).mixer == mixer; });
}
std::int64_t Model::attention_layers() const { return layers_with(Mixer::kAttention); }
std::int64_t Model::state_space_layers() const { return layers_with(Mixer::kStateSpace); }
std::int64_t Model::delta_net_layers() const { return layers_with(Mixer::kDeltaNet); }

std::int64_t Model::windowed_layers() const {
  return count_layers(*this, [this](std::int64_t l) { return has_window(l); });
}

std::int64_t Model::attention_weights() const {
  const std::int64_t out = (attention_gate ? 2 : 1) * context_width() * hidden;  // and the gate
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
  const bool both = model.norm_position == NormPosition::kBoth;
  const std::int64_t norms = (both ? 2 : 1) * norm;  // of a branch
  const std::int64_t token_table = model.vocab * h;
  const bool learned = model.positions == PositionKind::kLearned;

  ParameterCount count;
  count.embedding = token_table + (learned ? model.max_positions * h : 0) + model.token_types * h +
                    (model.embedding_norm ? norm : 0);
  const std::int64_t of_latents = (model.q_lora_rank + model.kv_lora_rank) * vectors;
  count.attention = norms + of_latents + model.attention_weights() +
                    (model.qkv_bias ? model.qkv_width() : 0) +
                    (model.qk_norm ? model.normed_query_width() + model.normed_key_width() : 0) +
                    (model.attention_output_bias ? h : 0);
  // Taps and a bias of each channel; decay, step bias and direct term of each head; the gated norm.
  count.state_space = norm + model.state_space_weights() +
                      model.conv_channels() * (model.conv_width + 1) + 3 * model.state_heads +
                      model.state_width();
  // Taps of each channel; decay and step bias of each head; a norm of one head for all.
  count.delta_net = norm + model.delta_net_weights() + model.conv_channels() * model.conv_width +
                    2 * model.state_heads + model.state_head_dim;
  count.mlp = (model.shared_norm ? 0 : norms) + mlp(model, model.ffn_hidden);
  count.layer = count.attention + count.mlp;
  if (model.experts > 0) count_experts(model, norms, count);
  count.head = (model.has_final_norm() ? norm : 0) + (model.tied_embeddings ? 0 : token_table) +
               (model.masked_lm_head ? linear(h, h, true) + norm : 0) +
               (model.has_output_bias() ? model.vocab : 0);
  if (model.mtp_layers > 0) {
    count.mtp = 3 * norm + linear(2 * h, h, false) +
                (model.mtp_has_experts() ? count.moe_layer : count.layer);
  }
  return count;
}

}  // namespace plait
