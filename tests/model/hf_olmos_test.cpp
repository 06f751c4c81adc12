// Families whose norms of queries and keys span all heads.
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_olmos_test {

// Keys and values as published with allenai/OLMo-2-1124-13B.
TEST(HfOlmos, OfOlmo2IsThePreset) {
  const ImportedModel got = import_hf_config(R"({"architectures": ["Olmo2ForCausalLM"],
      "attention_bias": false, "attention_dropout": 0.0, "eos_token_id": 100257,
      "hidden_act": "silu", "hidden_size": 5120, "initializer_range": 0.02,
      "intermediate_size": 13824, "max_position_embeddings": 4096, "model_type": "olmo2",
      "num_attention_heads": 40, "num_hidden_layers": 40, "num_key_value_heads": 40,
      "pad_token_id": 100277, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 500000,
      "tie_word_embeddings": false, "torch_dtype": "float32", "transformers_version": "4.47.0",
      "use_cache": true, "vocab_size": 100352})",
                                             "config.json");
  expect_same_shape(got.model, *find_preset("olmo-2-13b"));
  EXPECT_TRUE(got.ignored_keys.empty());
}

TEST(HfOlmos, OfOlmo3HasWindowsInThreeOfFourLayers) {
  const Model m = imported(R"({"model_type": "olmo3", "hidden_size": 4096,
      "intermediate_size": 11008, "max_position_embeddings": 65536, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 32, "sliding_window": 4096,
      "vocab_size": 100278})");
  expect_same_shape(m, *find_preset("olmo-3-7b"));
  EXPECT_EQ(m.windowed_layers(), 24);
}

// allenai/OLMoE-1B-7B-0924.
TEST(HfOlmos, OfOlmoeHasNormsInFrontAndExpertsInEveryLayer) {
  const std::string keys = R"("model_type": "olmoe", "intermediate_size": 1024)";
  const Model m = imported("{" + keys + R"(, "clip_qkv": null})");
  expect_same_shape(m, *find_preset("olmoe-1b-7b"));
  EXPECT_EQ(total(m), 6'919'161'856);
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m)), 1.3e9, 0.05e9);
  EXPECT_EQ(refusal("{" + keys + R"(, "clip_qkv": 8.0})").where.path, "clip_qkv");
}

// MiniMaxAI/MiniMax-M2, whose list of attention kinds is shortened here: 10 billion parameters that
// a token meets, counted without embedding and output matrix.
TEST(HfOlmos, OfMinimaxM2IsThePreset) {
  const std::string keys = R"("model_type": "minimax_m2", "head_dim": 128, "hidden_act": "silu",
      "hidden_size": 3072, "intermediate_size": 1536, "max_position_embeddings": 196608,
      "num_attention_heads": 48, "num_experts_per_tok": 8, "num_hidden_layers": 62,
      "num_key_value_heads": 8, "num_local_experts": 256, "rotary_dim": 64,
      "shared_intermediate_size": 0, "tie_word_embeddings": false, "use_qk_norm": true,
      "vocab_size": 200064)";
  const Model m = imported("{" + keys + R"(, "qk_norm_type": "per_layer", "attn_type_list": [1]})");
  const Model& preset = *find_preset("minimax-m2");
  expect_same_shape(m, preset);
  EXPECT_EQ(total(m), total(preset));
  const std::int64_t ends = 2 * m.vocab * m.hidden;
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m) - ends), 10e9, 0.5e9);
  EXPECT_FALSE(imported("{" + keys + R"(, "qk_norm_type": "per_head"})").qk_norm_across_heads);
  EXPECT_EQ(refusal("{" + keys + R"(, "attn_type_list": [1, 0]})").where.path, "attn_type_list");
}

}  // namespace plait::hf_olmos_test
