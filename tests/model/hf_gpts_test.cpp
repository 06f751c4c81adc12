// Decoders with LayerNorm and an MLP without a gate.
#include <gtest/gtest.h>

#include "model/hf_config.h"
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_gpts_test {

// Keys and values as published with bigscience/bloom.
TEST(HfGpts, OfBloomIsThePreset) {
  const ImportedModel got = import_hf_config(R"({"apply_residual_connection_post_layernorm": false,
      "architectures": ["BloomForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1,
      "eos_token_id": 2, "hidden_dropout": 0.0, "initializer_range": 0.02,
      "layer_norm_epsilon": 1e-05, "model_type": "bloom", "n_embed": 14336, "n_layer": 70,
      "num_attention_heads": 112, "pretraining_tp": 4, "seq_length": 2048,
      "use_cache": true, "vocab_size": 250880})",
                                             "config.json");
  expect_same_shape(got.model, *find_preset("bloom-176b"));
  EXPECT_TRUE(got.ignored_keys.empty());
}

TEST(HfGpts, OfFalconWithLinearBiasesHasNoPositions) {
  const Model m = imported(R"({"model_type": "falcon", "alibi": true, "parallel_attn": false,
      "multi_query": false, "hidden_size": 4096, "num_attention_heads": 64})");
  EXPECT_EQ(m.positions, PositionKind::kNone);
  EXPECT_FALSE(m.parallel_attention);
}

// starcoder2-3b: the class defaults are its shape but for windows of 4,096 and positions; with all
// biases and tied embeddings 3,030,371,328 parameters (Lozhkov et al. 2024, arXiv 2402.19173).
TEST(HfGpts, OfStarcoder2HasBiasesAndFewKeysAndValues) {
  const Model m = imported(R"({"model_type": "starcoder2", "sliding_window": 4096,
      "max_position_embeddings": 16384})");
  EXPECT_EQ(total(m), 3'030'371'328);
  EXPECT_EQ(m.windowed_layers(), 30);
}

TEST(HfGpts, WithResidualBranchesFromBehindTheNormAreRefused) {
  try {
    import_hf_config(R"({"model_type": "bloom", "apply_residual_connection_post_layernorm": true})",
                     "config.json");
    FAIL() << "it was read";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().where.path, "apply_residual_connection_post_layernorm");
  }
}

}  // namespace plait::hf_gpts_test
