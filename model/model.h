#pragma once
// The network being trained: a decoder-only transformer, described by its shapes. Symbols of the
// Megatron papers: s sequence length, h hidden, a heads, L layers, V vocabulary; of mixtures of
// experts: E experts, k of them per token. Everything about a
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

  // Mixture of experts (Shazeer et al. 2017, arXiv 1701.06538): in some layers a router sends each
  // token to k of E MLPs of the same shape and adds up their results, weighted by the softmax over
  // the k chosen logits (Jiang et al. 2024, arXiv 2401.04088, section 2.1).
  std::int64_t experts = 0;             // E; 0: every layer has one MLP
  std::int64_t experts_per_token = 0;   // k
  std::int64_t expert_ffn_hidden = 0;   // ffn_hidden of one expert
  std::int64_t shared_ffn_hidden = 0;   // of the experts, together, that see every token; 0: none
  std::int64_t first_dense_layers = 0;  // layers before the first one with experts
  std::int64_t moe_every = 1;           // of the layers from there on, each n-th has experts

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t kv_width() const { return kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
  /// Columns of the MLP's input projection: 2 ffn_hidden when gated.
  std::int64_t mlp_input_width() const { return mlp_input_width(ffn_hidden); }
  std::int64_t mlp_input_width(std::int64_t width) const { return (gated_mlp ? 2 : 1) * width; }
  /// Biases in norms come with LayerNorm and are absent in RMSNorm.
  bool norm_bias() const { return norm == NormKind::kLayerNorm; }
  bool has_experts(std::int64_t layer) const {
    return experts > 0 && layer >= first_dense_layers &&
           (layer - first_dense_layers) % moe_every == 0;
  }
  /// Layers with experts.
  std::int64_t moe_layers() const;
  std::int64_t dense_layers() const { return layers - moe_layers(); }
};

/// Parameters by part, exactly as stored (a tied output matrix counts once).
struct ParameterCount {
  std::int64_t embedding = 0;         // token table and learned positions
  std::int64_t layer = 0;             // one transformer layer with a dense MLP
  std::int64_t moe_layer = 0;         // one with experts, all of them
  std::int64_t active_moe_layer = 0;  // of these, what one token meets
  std::int64_t head = 0;              // final norm and, when untied, the output matrix
  std::int64_t total(const Model& m) const { return sum(m, moe_layer); }
  /// What one token meets: the "A22B" of a model's name.
  std::int64_t active(const Model& m) const { return sum(m, active_moe_layer); }

 private:
  std::int64_t sum(const Model& m, std::int64_t each_moe_layer) const {
    return embedding + m.dense_layers() * layer + m.moe_layers() * each_moe_layer + head;
  }
};
ParameterCount count_parameters(const Model& model);

}  // namespace plait
