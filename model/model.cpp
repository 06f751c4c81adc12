#include "model/model.h"

namespace plait {
namespace {

/// A linear map (in, out), row-major weight plus an optional bias of its outputs.
std::int64_t linear(std::int64_t in, std::int64_t out, bool bias) {
  return in * out + (bias ? out : 0);
}

}  // namespace

ParameterCount count_parameters(const Model& model) {
  const std::int64_t h = model.hidden;
  const std::int64_t norm = h * (model.norm_bias() ? 2 : 1);
  const std::int64_t token_table = model.vocab * h;
  const bool learned = model.positions == PositionKind::kLearned;

  ParameterCount count;
  count.embedding = token_table + (learned ? model.max_positions * h : 0);
  count.layer = 2 * norm + linear(h, model.qkv_width(), model.qkv_bias) +
                linear(model.query_width(), h, model.attention_output_bias) +
                linear(h, model.mlp_input_width(), model.mlp_bias) +
                linear(model.ffn_hidden, h, model.mlp_bias);
  count.head = norm + (model.tied_embeddings ? 0 : token_table);
  return count;
}

}  // namespace plait
