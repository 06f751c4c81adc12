#pragma once
// The network being trained: a transformer of decoder layers, as GPT's, or encoder layers, as
// BERT's, described by its shapes. Symbols of the Megatron papers: s sequence length, h hidden, a
// heads, L layers, V vocabulary; of mixtures of experts: E experts, k of them per token. Everything
// about a layer that the plan needs follows from these fields; nothing here knows about devices or
// sharding. Fields have the values of a decoder, Llama's as far as there are several; an encoder
// changes those that stand together below.

#include <cstdint>
#include <string>

namespace plait {

enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };
enum class ActivationKind : std::uint8_t { kGelu, kSilu, kRelu };
enum class PositionKind : std::uint8_t { kLearned, kRotary, kNone };
/// In front of attention and MLP, x + f(norm(x)); or behind their residual sums, norm(x + f(x))
/// (Vaswani et al. 2017, arXiv 1706.03762, section 3.1); or in front of them and, of what they add,
/// behind them too, x + norm'(f(norm(x))) (Gemma 2, arXiv 2408.00118, section 2); or of what they
/// add alone, x + norm(f(x)) (OLMo 2, arXiv 2501.00656, section 3.1). In all but the second one
/// more norm stands behind the last layer.
enum class NormPosition : std::uint8_t { kPre, kPost, kBoth, kBranch };

/// What a layer mixes tokens with, and what stands behind that.
enum class Mixer : std::uint8_t { kNone, kAttention, kStateSpace, kDeltaNet };
enum class FeedForward : std::uint8_t { kNone, kMlp, kExperts };
struct LayerParts {
  Mixer mixer = Mixer::kAttention;
  FeedForward feed_forward = FeedForward::kMlp;
  bool operator==(const LayerParts&) const = default;
};

/// What a plan can number.
inline constexpr std::int64_t kMostLayers = 32'000;

struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;         // h
  std::int64_t ffn_hidden = 0;     // width of the MLP's inner activation (of one gate when gated)
  std::int64_t heads = 0;          // a, query heads
  std::int64_t kv_heads = 0;       // = heads for multi-head, 1 for multi-query attention
  std::int64_t head_dim = 0;       // of queries and keys; may differ from hidden / heads
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
  bool output_bias = false;  // of the output matrix (GPT-J, Phi)
  /// RMSNorm of each head's query and of each head's key, before positions rotate them: a gamma of
  /// head_dim for all queries of a layer and one for all keys (Henry et al. 2020, arXiv 2010.04245;
  /// Qwen3, arXiv 2505.09388, section 2).
  bool qk_norm = false;
  /// With qk_norm: one norm of the queries of all heads and one of their keys, each with a gamma of
  /// as many columns (OLMo 2, arXiv 2501.00656, section 3.1; MiniMax-M2's "per_layer").
  bool qk_norm_across_heads = false;
  /// Attention's results times sigmoid(W_g h), a gate of each column, before the projection behind
  /// them (Qiu et al. 2025, arXiv 2505.06708, section 2.2, G1; Qwen3-Next).
  bool attention_gate = false;
  bool parallel_attention = false;  // Falcon, GPT-NeoX: x + attention(norm(x)) + mlp(norm'(x))
  bool shared_norm = false;         // of both, where they are parallel (Falcon-7B)
  double dropout = 0;  // probability on attention weights and on both residual branches
  double attention_dropout = kAsResiduals;  // on attention weights, where that is another one
  static constexpr double kAsResiduals = -1;
  double dropout_of_attention() const {
    return attention_dropout < 0 ? dropout : attention_dropout;
  }

  // Bidirectional encoders (Devlin et al. 2018, BERT, arXiv 1810.04805, section 3): a token sees
  // all of its sequence, and the model is trained to tell tokens that are masked in its input.
  bool causal = true;  // a token sees itself and those before it
  NormPosition norm_position = NormPosition::kPre;
  bool embedding_norm = false;   // of the sum of all embeddings
  std::int64_t token_types = 0;  // rows of a table that is added too: which of two texts, A or B
  /// Masked-LM head: a linear layer of h columns with a bias, the activation, without a gate, and a
  /// norm stand before the output matrix, which has a bias too (BERT's cls.predictions).
  bool masked_lm_head = false;

  // Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, arXiv 2405.04434, section 2.1): the
  // keys and values of all heads are made of one latent vector of their token, its queries of
  // another, each behind a norm. Of a head's query and key the last rope_head_dim columns carry the
  // position; those of the keys are one vector for all heads, which comes beside the latent.
  // Without latents rope_head_dim is a partial rotation (GPT-NeoX's rotary_pct, Qwen3-Next).
  std::int64_t kv_lora_rank = 0;   // width of the latent of keys and values; 0: no such attention
  std::int64_t q_lora_rank = 0;    // of that of queries; 0: they are made of the hidden state
  std::int64_t rope_head_dim = 0;  // of head_dim; 0: all of it, without latents
  std::int64_t v_head_dim = 0;     // of values and results; 0: head_dim

  // Sliding windows (Jiang et al. 2023, Mistral 7B, arXiv 2310.06825, section 2): in some layers a
  // query sees itself and the tokens right before it, `attention_window` in all, as by
  // transformers' sliding_window (masking_utils.py: key > query - window) and FlashAttention's
  // window_size = (attention_window - 1, 0). Which layers see all tokens instead: the first ones
  // (Qwen2's max_window_layers) and, counted from 1, each n-th (Gemma 3's sliding_window_pattern,
  // Megatron-LM's --window-attn-skip-freq).
  std::int64_t attention_window = 0;  // in tokens; 0: every layer sees all of them
  std::int64_t full_attention_first = 0;
  std::int64_t full_attention_every = 0;  // n; 0: none but the first ones

  // Mixture of experts (Shazeer et al. 2017, arXiv 1701.06538): in some layers a router sends each
  // token to k of E MLPs of the same shape and adds up their results, weighted by the softmax over
  // the k chosen logits (Jiang et al. 2024, arXiv 2401.04088, section 2.1).
  std::int64_t experts = 0;             // E; 0: every layer has one MLP
  std::int64_t experts_per_token = 0;   // k
  std::int64_t expert_ffn_hidden = 0;   // ffn_hidden of one expert
  std::int64_t shared_ffn_hidden = 0;   // of the experts, together, that see every token; 0: none
  bool shared_expert_gate = false;      // what these make times sigmoid(w h), w (h) (Qwen1.5-MoE)
  std::int64_t first_dense_layers = 0;  // layers before the first one with experts
  std::int64_t moe_every = 1;           // of the layers from there on, each n-th has experts

  // Hybrids: what each layer has, a letter for each. With one part, as in Nemotron-H (NVIDIA 2025,
  // arXiv 2504.03624) and Megatron-LM's hybrid patterns: M state-space mixer, G gated delta net, *
  // attention, - MLP, E experts. With two: m state-space mixer, g gated delta net, a attention, and
  // behind it an MLP, or experts where the fields above say so. Empty: a everywhere.
  std::string layer_pattern;
  // State-space mixers (Dao and Gu 2024, Mamba-2, arXiv 2405.21060, sections 6 and 7): of a token
  // one product makes a gate z and inputs x of all heads, matrices B and C of all groups of heads
  // and a step dt of each head; a convolution over the last tokens changes x, B and C, and each
  // head has a state of head_dim x state_size that the step lets decay and adds dt x B to.
  std::int64_t state_size = 0;      // N
  std::int64_t state_heads = 0;     // H
  std::int64_t state_head_dim = 0;  // P
  std::int64_t state_groups = 1;    // G, of heads that share B and C
  std::int64_t conv_width = 4;      // tokens that the convolution sees, itself included
  std::int64_t scan_chunk = 256;    // Q, tokens whose states are not written out
  // Gated delta nets (Yang et al. 2024, arXiv 2412.06464) have the same sizes: queries stand for C,
  // keys for B and values for x, so that the state of each of H value heads has P rows of values
  // and N columns of keys, G heads of queries and keys serve them, and a token brings two numbers
  // for each value head: how much its state decays, and how much of its key it replaces.

  // Multi-token prediction (DeepSeek-AI 2024, DeepSeek-V3, arXiv 2412.19437, section 2.2): in
  // training, D modules one behind the other, of which the k-th predicts the token k places behind
  // the next one. Each has two norms, a projection of (hidden state, embedding of the next token),
  // a layer like the model's last one and a norm before the output matrix, which is the model's.
  std::int64_t mtp_layers = 0;  // D

  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t key_width() const { return kv_heads * head_dim; }
  std::int64_t value_dim() const { return v_head_dim > 0 ? v_head_dim : head_dim; }
  std::int64_t value_width() const { return kv_heads * value_dim(); }
  std::int64_t qkv_width() const { return query_width() + key_width() + value_width(); }
  /// Of attention's results.
  std::int64_t context_width() const { return heads * value_dim(); }
  bool latent_attention() const { return kv_lora_rank > 0; }
  /// What keys and values are projected to from their latent: of each head, its own columns of the
  /// key and the value.
  std::int64_t kv_up_width() const { return kv_heads * (head_dim - rope_head_dim + value_dim()); }
  /// Weights of a layer's linear maps around attention, without biases: what a token meets.
  std::int64_t attention_weights() const;
  /// Of each head, without latents, what positions rotate.
  std::int64_t rotated_dim() const { return rope_head_dim > 0 ? rope_head_dim : head_dim; }
  /// Columns of the MLP's input projection: 2 ffn_hidden when gated.
  std::int64_t mlp_input_width() const { return mlp_input_width(ffn_hidden); }
  std::int64_t mlp_input_width(std::int64_t width) const { return (gated_mlp ? 2 : 1) * width; }
  /// Of the gate of shared experts.
  std::int64_t shared_gate_weights() const {
    return shared_expert_gate && shared_ffn_hidden > 0 ? hidden : 0;
  }
  /// Biases in norms come with LayerNorm and are absent in RMSNorm.
  bool norm_bias() const { return norm == NormKind::kLayerNorm; }
  /// The residual stream's own, behind the last layer.
  bool has_final_norm() const { return norm_position != NormPosition::kPost; }
  /// Of what attention and MLP read.
  bool has_input_norms() const {
    return norm_position == NormPosition::kPre || norm_position == NormPosition::kBoth;
  }
  /// Of what attention and MLP add.
  bool has_branch_norms() const {
    return norm_position == NormPosition::kBoth || norm_position == NormPosition::kBranch;
  }
  /// Columns of the vector that is normalised of queries, and of keys (qk_norm).
  std::int64_t normed_query_width() const {
    return qk_norm_across_heads ? query_width() : head_dim;
  }
  std::int64_t normed_key_width() const { return qk_norm_across_heads ? key_width() : head_dim; }
  bool has_output_bias() const { return output_bias || masked_lm_head; }
  /// Whether it continues a text token by token.
  bool generates() const { return causal && !masked_lm_head && token_types == 0; }
  bool has_window(std::int64_t layer) const {
    return attention_window > 0 && layer >= full_attention_first &&
           (full_attention_every == 0 || (layer + 1) % full_attention_every != 0) &&
           has_attention(layer);
  }
  /// Layers with a window.
  std::int64_t windowed_layers() const;
  LayerParts parts_of(std::int64_t layer) const;
  bool has_experts(std::int64_t layer) const {
    return parts_of(layer).feed_forward == FeedForward::kExperts;
  }
  bool has_attention(std::int64_t layer) const {
    return parts_of(layer).mixer == Mixer::kAttention;
  }
  /// Layers with experts, with an MLP, with attention, with a state-space mixer and with a gated
  /// delta net.
  std::int64_t moe_layers() const;
  std::int64_t dense_layers() const;
  std::int64_t attention_layers() const;
  std::int64_t state_space_layers() const;
  std::int64_t delta_net_layers() const;
  /// With states that pass from token to token.
  std::int64_t recurrent_layers() const { return state_space_layers() + delta_net_layers(); }

  // ---- of a mixer with states
  /// Of the gate, of x and of the results: all heads.
  std::int64_t state_width() const { return state_heads * state_head_dim; }
  /// Of B, and of C: all groups.
  std::int64_t state_group_width() const { return state_groups * state_size; }
  /// What the convolution runs over: x, B, C.
  std::int64_t conv_channels() const { return state_width() + 2 * state_group_width(); }
  /// Columns of the first product: z, x, B, C, dt.
  std::int64_t state_input_width() const { return state_width() + conv_channels() + state_heads; }
  /// Weights of its two products: what a token meets.
  std::int64_t state_space_weights() const {
    return hidden * (state_input_width() + state_width());
  }
  /// Columns of a gated delta net's first product: z, q, k, v, and beta and alpha of each head.
  std::int64_t delta_input_width() const {
    return state_width() + conv_channels() + 2 * state_heads;
  }
  std::int64_t delta_net_weights() const { return hidden * (delta_input_width() + state_width()); }
  /// Of the layer in each module that predicts a further token: it is as the model's last layer.
  bool mtp_has_experts() const { return has_experts(layers - 1); }
  bool mtp_has_window() const { return has_window(layers - 1); }

 private:
  std::int64_t layers_with(Mixer mixer) const;
  /// Without a pattern, and of those parts of a pattern that do not say it themselves.
  bool meets_experts(std::int64_t layer) const {
    return experts > 0 && layer >= first_dense_layers &&
           (layer - first_dense_layers) % moe_every == 0;
  }
};

/// Parameters by part, exactly as stored (a tied output matrix counts once).
struct ParameterCount {
  std::int64_t embedding = 0;    // token table, learned positions, token types, their norm
  std::int64_t attention = 0;    // of a layer, with its norm, as are the next five
  std::int64_t state_space = 0;  // state-space mixer
  std::int64_t delta_net = 0;    // gated delta net
  std::int64_t mlp = 0;
  std::int64_t experts = 0;           // router and all experts
  std::int64_t active_experts = 0;    // of these, what one token meets
  std::int64_t layer = 0;             // one transformer layer with a dense MLP
  std::int64_t moe_layer = 0;         // one with experts, all of them
  std::int64_t active_moe_layer = 0;  // of these, what one token meets
  std::int64_t head = 0;  // final norm, masked-LM head and, when untied, the output matrix
  std::int64_t mtp = 0;   // one module that predicts a further token, without what it shares
  std::int64_t total(const Model& m) const { return sum(m, experts) + m.mtp_layers * mtp; }
  /// What one token meets that the model is asked for: the "A22B" of a model's name.
  std::int64_t active(const Model& m) const { return sum(m, active_experts); }

 private:
  std::int64_t sum(const Model& m, std::int64_t each_experts) const {
    return embedding + m.attention_layers() * attention + m.state_space_layers() * state_space +
           m.delta_net_layers() * delta_net + m.dense_layers() * mlp +
           m.moe_layers() * each_experts + head;
  }
};
ParameterCount count_parameters(const Model& model);

}  // namespace plait
