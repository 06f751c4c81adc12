#pragma once
// Configurations of Hugging Face models as texts, and what is read out of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "model/hf_config.h"

namespace plait {

inline std::int64_t total(const Model& m) { return count_parameters(m).total(m); }

inline bool holds(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

inline Model imported(const std::string& text) {
  return import_hf_config(text, "config.json").model;
}

/// Every field but the name.
inline void expect_same_shape(const Model& a, const Model& b) {
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.hidden, b.hidden);
  EXPECT_EQ(a.ffn_hidden, b.ffn_hidden);
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_EQ(a.kv_heads, b.kv_heads);
  EXPECT_EQ(a.head_dim, b.head_dim);
  EXPECT_EQ(a.vocab, b.vocab);
  EXPECT_EQ(a.max_positions, b.max_positions);
  EXPECT_EQ(a.norm, b.norm);
  EXPECT_EQ(a.activation, b.activation);
  EXPECT_EQ(a.gated_mlp, b.gated_mlp);
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.tied_embeddings, b.tied_embeddings);
  EXPECT_EQ(a.qkv_bias, b.qkv_bias);
  EXPECT_EQ(a.attention_output_bias, b.attention_output_bias);
  EXPECT_EQ(a.mlp_bias, b.mlp_bias);
  EXPECT_EQ(a.output_bias, b.output_bias);
  EXPECT_EQ(a.qk_norm, b.qk_norm);
  EXPECT_EQ(a.qk_norm_across_heads, b.qk_norm_across_heads);
  EXPECT_EQ(a.rope_head_dim, b.rope_head_dim);
  EXPECT_EQ(a.shared_norm, b.shared_norm);
  EXPECT_EQ(a.parallel_attention, b.parallel_attention);
  EXPECT_EQ(a.attention_window, b.attention_window);
  EXPECT_EQ(a.full_attention_first, b.full_attention_first);
  EXPECT_EQ(a.full_attention_every, b.full_attention_every);
  EXPECT_EQ(a.dropout, b.dropout);
  EXPECT_EQ(a.dropout_of_attention(), b.dropout_of_attention());
  EXPECT_EQ(a.causal, b.causal);
  EXPECT_EQ(a.norm_position, b.norm_position);
  EXPECT_EQ(a.embedding_norm, b.embedding_norm);
  EXPECT_EQ(a.token_types, b.token_types);
  EXPECT_EQ(a.masked_lm_head, b.masked_lm_head);
}

/// The InputError of this text.
inline InputError::Text refusal(const std::string& text) {
  try {
    import_hf_config(text, "config.json");
  } catch (const InputError& error) {
    return error.text();
  }
  ADD_FAILURE() << "accepted: " << text;
  return {};
}

inline void expect_same_mixers(const Model& a, const Model& b) {
  EXPECT_EQ(a.layer_pattern, b.layer_pattern);
  EXPECT_EQ(a.state_size, b.state_size);
  EXPECT_EQ(a.state_heads, b.state_heads);
  EXPECT_EQ(a.state_head_dim, b.state_head_dim);
  EXPECT_EQ(a.state_groups, b.state_groups);
  EXPECT_EQ(a.conv_width, b.conv_width);
  EXPECT_EQ(a.scan_chunk, b.scan_chunk);
}

}  // namespace plait
