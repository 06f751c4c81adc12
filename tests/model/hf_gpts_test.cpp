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

// Keys and values as published with facebook/opt-6.7b.
TEST(HfGpts, OfOptIsThePresetWithoutDropoutOfAttention) {
  const ImportedModel got = import_hf_config(R"({"_remove_final_layer_norm": false,
      "activation_dropout": 0.0, "activation_function": "relu",
      "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2,
      "do_layer_norm_before": true, "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 16384,
      "hidden_size": 4096, "init_std": 0.02, "layerdrop": 0.0,
      "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 32,
      "num_hidden_layers": 32, "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16",
      "use_cache": true, "vocab_size": 50272, "word_embed_proj_dim": 4096})",
                                             "config.json");
  Model expected = *find_preset("opt-6.7b");
  expected.attention_dropout = 0;
  expect_same_shape(got.model, expected);
}

// opt-350m.
TEST(HfGpts, OfOptWithNormsBehindSumsOrANarrowEmbeddingAreRefused) {
  EXPECT_EQ(refusal(R"({"model_type": "opt", "do_layer_norm_before": false})").where.path,
            "do_layer_norm_before");
  EXPECT_EQ(refusal(R"({"model_type": "opt", "word_embed_proj_dim": 512})").where.path,
            "word_embed_proj_dim");
}

// The class defaults are falcon-7b's shape: one norm for attention and MLP. falcon-40b has two,
// and a newer one may have either.
TEST(HfGpts, OfFalconSaysHowManyNormsItHas) {
  expect_same_shape(imported(R"({"model_type": "falcon"})"), *find_preset("falcon-7b"));
  const std::string newer = R"({"model_type": "falcon", "new_decoder_architecture": true)";
  EXPECT_FALSE(imported(newer + "}").shared_norm);
  EXPECT_TRUE(imported(newer + R"(, "num_ln_in_parallel_attn": 1})").shared_norm);
}

// The class defaults are gpt-j-6b's shape.
TEST(HfGpts, OfGptJIsThePreset) {
  expect_same_shape(imported(R"({"model_type": "gptj"})"), *find_preset("gpt-j-6b"));
}

// Keys and values as published with microsoft/phi-2.
TEST(HfGpts, OfPhi2IsThePreset) {
  const std::string keys =
      R"({"attention_dropout": 0.0, "embd_pdrop": 0.0, "hidden_act": "gelu_new",
      "hidden_size": 2560, "intermediate_size": 10240, "max_position_embeddings": 2048,
      "model_type": "phi", "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 32, "partial_rotary_factor": 0.4, "resid_pdrop": 0.1,
      "tie_word_embeddings": false, "vocab_size": 51200, "qk_layernorm": )";
  expect_same_shape(imported(keys + "false}"), *find_preset("phi-2"));
  EXPECT_EQ(refusal(keys + "true}").where.path, "qk_layernorm");
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
