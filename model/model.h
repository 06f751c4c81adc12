#pragma once
// The network being trained: a decoder-only transformer, described by its shapes. Symbols of the
// Megatron papers: s sequence length, h hidden, a heads, L layers, V vocabulary. Everything about a
// layer that the plan needs follows from these fields; nothing here knows about devices or
// sharding.

#include <cstdint>
#include <string>

namespace plait {

enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };
enum class ActivationKind : std::uint8_t { kGelu, kSilu, kRelu };
enum class PositionKind : std::uint8_t { kLearned, kRotary, kNone };

struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;         // h
  std::int64_t ffn_hidden = 0;     // width of the MLP's inner activation (of one gate when gated)
  std::int64_t heads = 0;          // a, query heads
  std::int64_t kv_heads = 0;       // = heads for multi-head, 1 for multi-query attention
  std::int64_t head_dim = 0;       // may differ from hidden / heads
  std::int64_t vocab = 0;          // V, as the embedding matrix stores it
  std::int64_t max_positions = 0;  // rows of a learned position table
  NormKind norm = NormKind::kRmsNorm;
  ActivationKind activation = ActivationKind::kSilu;
  bool gated_mlp = true;  // SwiGLU and kin: two input projections, one product
  PositionKind positions = PositionKind::kRotary;
  bool tied_embeddings = false;  // logits share the token embedding matrix
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool parallel_attention = false;  // Falcon, GPT-J: x + attention(norm(x)) + mlp(norm'(x))
  double dropout = 0;  // probability on attention weights and on both residual branches

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  /// Columns of the MLP's input projection: 2 ffn_hidden when gated.
  std::int64_t mlp_input_width() const { return (gated_mlp ? 2 : 1) * ffn_hidden; }
  /// Biases in norms come with LayerNorm and are absent in RMSNorm.
  bool norm_bias() const { return norm == NormKind::kLayerNorm; }
};

/// Parameters by part, exactly as stored (a tied output matrix counts once).
struct ParameterCount {
  std::int64_t embedding = 0;  // token table and learned positions
  std::int64_t layer = 0;      // one transformer layer
  std::int64_t head = 0;       // final norm and, when untied, the output matrix
  std::int64_t total(std::int64_t layers) const { return embedding + layers * layer + head; }
};
ParameterCount count_parameters(const Model& model);

}  // namespace plait
