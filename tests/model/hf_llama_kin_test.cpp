// config.json of models with Llama's layers under other names. Counts are what the sizes add up to;
// those of the comments are what the models are called by.
#include "tests/model/hf_configs.h"

namespace plait::hf_llama_kin_test {

double billions(const Model& m) { return static_cast<double>(total(m)) * 1e-9; }

// internlm/internlm2_5-7b and internlm/internlm3-8b-instruct.
TEST(HfLlamaKin, ReadsInternLms) {
  const Model second = imported(R"({"model_type": "internlm2", "bias": false, "hidden_act": "silu",
      "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 32768,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "tie_word_embeddings": false, "vocab_size": 92544})");
  EXPECT_NEAR(billions(second), 7.74, 0.005);
  EXPECT_FALSE(second.qkv_bias || second.attention_output_bias);
  const Model third = imported(R"({"model_type": "internlm3", "bias": false, "head_dim": 128,
      "hidden_size": 4096, "intermediate_size": 10240, "max_position_embeddings": 32768,
      "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 2,
      "qkv_bias": false, "tie_word_embeddings": false, "vocab_size": 128512})");
  EXPECT_NEAR(billions(third), 8.80, 0.005);
}

// baichuan-inc/Baichuan2-7B-Base and -13B-Base, which names its positions otherwise.
TEST(HfLlamaKin, ThirteenBillionBaichuansHaveNoRotation) {
  const std::string both = R"({"model_type": "baichuan", "hidden_act": "silu",
      "model_max_length": 4096, "tie_word_embeddings": false, "vocab_size": 125696,
      "z_loss_weight": 0, )";
  const ImportedModel small = import_hf_config(
      both + R"("hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 4096,
      "num_attention_heads": 32, "num_hidden_layers": 32})",
      "config.json");
  EXPECT_NEAR(billions(small.model), 7.51, 0.005);
  EXPECT_EQ(small.model.positions, PositionKind::kRotary);
  EXPECT_TRUE(small.ignored_keys.empty());
  const Model large = imported(both + R"("hidden_size": 5120, "intermediate_size": 13696,
      "num_attention_heads": 40, "num_hidden_layers": 40})");
  EXPECT_NEAR(billions(large), 13.90, 0.005);
  EXPECT_EQ(large.positions, PositionKind::kNone);
  EXPECT_EQ(large.max_positions, 4096);
}

// LGAI-EXAONE/EXAONE-4.0-32B: three layers with windows, one without.
TEST(HfLlamaKin, ReadsExaoneWithItsPatternOfWindows) {
  const std::string keys = R"({"model_type": "exaone4", "head_dim": 128, "hidden_act": "silu",
      "hidden_size": 5120, "intermediate_size": 27392, "max_position_embeddings": 131072,
      "num_attention_heads": 40, "num_hidden_layers": 64, "num_key_value_heads": 8,
      "sliding_window": 4096, "tie_word_embeddings": false, "vocab_size": 102400,
      "sliding_window_pattern": )";
  for (const char* pattern : {"4}", R"("LLLG"})"}) {
    const ImportedModel got = import_hf_config(keys + pattern, "config.json");
    const Model& m = got.model;
    EXPECT_NEAR(billions(m), 32.0, 0.05);
    EXPECT_TRUE(holds(got.assumed_defaults,
                      "rotary positions = in every layer, of which 16 of 64 have none"));
    EXPECT_EQ(m.windowed_layers(), 48);
    EXPECT_EQ(m.norm_position, NormPosition::kBranch);
    EXPECT_TRUE(m.qk_norm && !m.qk_norm_across_heads);
  }
  EXPECT_EQ(refusal(keys + R"("LLGL"})").where.path, "sliding_window_pattern");
}

// LGAI-EXAONE/EXAONE-4.0-1.2B.
TEST(HfLlamaKin, SmallExaoneSeesAllTokens) {
  const ImportedModel got = import_hf_config(R"({"model_type": "exaone4", "hidden_size": 2048,
      "intermediate_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 30,
      "num_key_value_heads": 8, "sliding_window": null, "sliding_window_pattern": null,
      "tie_word_embeddings": true, "vocab_size": 102400})",
                                             "config.json");
  EXPECT_NEAR(billions(got.model), 1.28, 0.005);
  EXPECT_EQ(got.model.windowed_layers(), 0);
  for (const std::string& said : got.assumed_defaults) EXPECT_FALSE(said.starts_with("rotary"));
}

// Keys of EXAONE 3, whose layers have a name of their own; the sizes are no published model's.
TEST(HfLlamaKin, ExaoneThreeCallsItsLayersNumLayers) {
  const ImportedModel got = import_hf_config(R"({"model_type": "exaone",
      "activation_function": "silu", "attention_dropout": 0.0, "embed_dropout": 0.0,
      "head_dim": 128, "hidden_size": 4096, "intermediate_size": 14336, "num_layers": 30,
      "max_position_embeddings": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
      "tie_word_embeddings": false, "vocab_size": 102400})",
                                             "config.json");
  EXPECT_EQ(got.model.layers, 30);
  EXPECT_TRUE(got.ignored_keys.empty() && got.assumed_defaults.empty());
}

// tencent/Hunyuan-MT-7B.
TEST(HfLlamaKin, ReadsHunyuanWithNormsOfHeads) {
  const std::string keys = R"({"model_type": "hunyuan_v1_dense", "attention_bias": false,
      "attention_head_dim": 128, "head_dim": 128, "hidden_size": 4096,
      "intermediate_size": 14336, "max_position_embeddings": 32768, "mlp_bias": false,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "tie_word_embeddings": true, "use_qk_norm": true, "use_rotary_pos_emb": true,
      "vocab_size": 128256)";
  const Model m = imported(keys + "}");
  EXPECT_NEAR(billions(m), 7.5, 0.05);
  EXPECT_TRUE(m.qk_norm);
  EXPECT_EQ(refusal(keys + R"(, "use_cla": true})").where.path, "use_cla");
}

// tencent/Hunyuan-A13B-Instruct: 80 billion parameters, 13 of which a token meets.
TEST(HfLlamaKin, ReadsHunyuanWithAListOfNumbersForItsLayers) {
  const std::string keys = R"({"model_type": "hunyuan_v1_moe", "hidden_size": 4096,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "intermediate_size": 3072, "vocab_size": 128167,
      "tie_word_embeddings": true, "num_experts": 64, "num_shared_expert": [1, 1],
      "moe_topk": [8, 8], "moe_intermediate_size": )";
  const Model m = imported(keys + "[3072, 3072]}");
  EXPECT_NEAR(billions(m), 80.4, 0.1);
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m)), 13e9, 0.5e9);
  EXPECT_EQ(refusal(keys + "[3072, 1536]}").where.path, "moe_intermediate_size");
  EXPECT_EQ(refusal(keys + "[]}").code, "M004");
}

// baidu/ERNIE-4.5-0.3B-PT, whose shape the class defaults are, and -21B-A3B-PT.
TEST(HfLlamaKin, ReadsErniesWithAndWithoutExperts) {
  EXPECT_NEAR(billions(imported(R"({"model_type": "ernie4_5"})")), 0.36, 0.005);
  const std::string keys = R"({"model_type": "ernie4_5_moe", "hidden_size": 2560,
      "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 28,
      "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
      "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_k": 6,
      "moe_layer_start_index": 1, "moe_layer_interval": 1, "vocab_size": 103424,
      "tie_word_embeddings": true, "hidden_act": "silu", "moe_layer_end_index": )";
  const Model m = imported(keys + "27}");
  EXPECT_NEAR(billions(m), 21.8, 0.1);
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m)), 3e9, 0.4e9);
  EXPECT_FALSE(m.has_experts(0));
  EXPECT_TRUE(m.has_experts(1));
  EXPECT_EQ(refusal(keys + "20}").where.path, "moe_layer_end_index");
}

TEST(HfLlamaKin, EachSecondLayerOfAnErnieIsCountedFromOne) {
  const Model m = imported(R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 8,
      "moe_layer_start_index": 2, "moe_layer_interval": 2})");
  for (std::int64_t l = 0; l < 8; ++l) EXPECT_EQ(m.has_experts(l), l >= 2 && l % 2 == 1) << l;
}

// THUDM/chatglm3-6b.
TEST(HfLlamaKin, ReadsChatGlmByItsMakersNames) {
  const std::string keys = R"({"model_type": "chatglm", "add_bias_linear": false,
      "add_qkv_bias": true, "apply_residual_connection_post_layernorm": false,
      "attention_dropout": 0.0, "attention_softmax_in_fp32": true, "bias_dropout_fusion": true,
      "ffn_hidden_size": 13696, "hidden_dropout": 0.0, "hidden_size": 4096, "kv_channels": 128,
      "layernorm_epsilon": 1e-05, "multi_query_attention": true, "multi_query_group_num": 2,
      "num_attention_heads": 32, "num_layers": 28, "original_rope": true,
      "padded_vocab_size": 65024, "post_layer_norm": true, "seq_length": 8192,
      "tie_word_embeddings": false, "vocab_size": 65024, "rmsnorm": )";
  const ImportedModel got = import_hf_config(keys + "true}", "config.json");
  EXPECT_NEAR(billions(got.model), 6.24, 0.005);
  EXPECT_EQ(got.model.kv_heads, 2);
  EXPECT_EQ(got.model.rope_head_dim, 64);
  EXPECT_TRUE(got.model.qkv_bias && !got.model.attention_output_bias);
  EXPECT_TRUE(got.ignored_keys.empty() && got.assumed_defaults.empty());
  EXPECT_EQ(refusal(keys + "false}").where.path, "rmsnorm");
  EXPECT_EQ(refusal(R"({"model_type": "chatglm", "position_encoding_2d": true})").code, "M004");
}

// The class defaults are zai-org/glm-4-9b-chat-hf's and GLM-4-9B-0414's shapes.
TEST(HfLlamaKin, Glm4OfAprilHasNormsOfBranchesToo) {
  const Model first = imported(R"({"model_type": "glm"})");
  EXPECT_NEAR(billions(first), 9.40, 0.005);
  EXPECT_EQ(first.rope_head_dim, 64);
  EXPECT_EQ(first.norm_position, NormPosition::kPre);
  const Model april = imported(R"({"model_type": "glm4"})");
  EXPECT_EQ(april.norm_position, NormPosition::kBoth);
  EXPECT_EQ(total(april) - total(first), 40 * 2 * 4096) << "two norms more in each layer";
}

// ibm-granite/granite-3.0-1b-a400m-instruct and granite-3.1-3b-a800m-instruct: the names say it.
TEST(HfLlamaKin, ReadsGraniteWithExperts) {
  const Model small = imported(R"({"model_type": "granitemoe", "hidden_size": 1024,
      "intermediate_size": 512, "num_hidden_layers": 24, "num_attention_heads": 16,
      "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 8,
      "tie_word_embeddings": true, "vocab_size": 49155})");
  EXPECT_NEAR(billions(small), 1.33, 0.01);
  EXPECT_NEAR(static_cast<double>(count_parameters(small).active(small)), 0.4e9, 0.05e9);
  const Model larger = imported(R"({"model_type": "granitemoe", "hidden_size": 1536,
      "intermediate_size": 512, "num_hidden_layers": 32, "num_attention_heads": 24,
      "num_key_value_heads": 8, "num_local_experts": 40, "num_experts_per_tok": 8,
      "tie_word_embeddings": true, "vocab_size": 49155})");
  EXPECT_NEAR(billions(larger), 3.3, 0.05);
  EXPECT_NEAR(static_cast<double>(count_parameters(larger).active(larger)), 0.8e9, 0.1e9);
}

// xai-org/grok-1: 314 billion parameters, two of eight experts. The class defaults are its shape.
TEST(HfLlamaKin, ReadsGrok) {
  const Model m = imported(R"({"model_type": "grok-1"})");
  EXPECT_NEAR(billions(m), 314, 3);
  EXPECT_TRUE(m.activation == ActivationKind::kGelu && m.gated_mlp);
  EXPECT_EQ(m.norm_position, NormPosition::kBoth);
}

// microsoft/Phi-4-mini-instruct rotates three quarters of its heads.
TEST(HfLlamaKin, Phi4MiniRotatesAPartOfItsHeads) {
  const std::string keys = R"({"model_type": "phi3", "hidden_size": 3072,
      "num_attention_heads": 24, "num_key_value_heads": 8)";
  EXPECT_EQ(imported(keys + R"(, "partial_rotary_factor": 0.75})").rope_head_dim, 96);
  EXPECT_EQ(imported(keys + "}").rope_head_dim, 0);
}

}  // namespace plait::hf_llama_kin_test
