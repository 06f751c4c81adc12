// config.json of models with experts or latent attention.
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_mixtures_test {

TEST(HfMixtures, ReadsMixturesOfExperts) {
  const Model mixtral = imported(R"({"model_type": "mixtral", "num_local_experts": 8,
      "num_experts_per_tok": 2, "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "vocab_size": 32000})");
  EXPECT_EQ(total(mixtral), 46'702'792'704);
  const Model qwen = imported(R"({"model_type": "qwen3_moe", "num_experts": 128,
      "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1,
      "mlp_only_layers": [], "hidden_size": 2048, "head_dim": 128, "num_hidden_layers": 48,
      "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 151936})");
  EXPECT_EQ(qwen.expert_ffn_hidden, 768);
  EXPECT_EQ(total(qwen), 30'532'122'624);
}

// moonshotai/Kimi-K2-Instruct: 1 T parameters, 32 billion of which a token meets.
TEST(HfMixtures, KimiK2IsOfDeepseeksKind) {
  const Model kimi = imported(R"({"model_type": "kimi_k2", "first_k_dense_replace": 1,
      "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
      "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 384,
      "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8,
      "num_hidden_layers": 61, "num_key_value_heads": 64, "num_nextn_predict_layers": 0,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "vocab_size": 163840})");
  EXPECT_NEAR(static_cast<double>(total(kimi)), 1.03e12, 0.01e12);
  EXPECT_NEAR(static_cast<double>(count_parameters(kimi).active(kimi)), 32e9, 1e9);
  EXPECT_EQ(kimi.mtp_layers, 0);
}

// zai-org/GLM-4.5-Air: 106 billion parameters, 12 of which a token meets, counted without embedding
// and output matrix.
TEST(HfMixtures, ReadsGlm4MixturesWithNormsOfHeadsWhereTheyHaveThem) {
  const std::string air = R"("model_type": "glm4_moe", "attention_bias": true, "head_dim": 128,
      "hidden_size": 4096, "intermediate_size": 10944, "first_k_dense_replace": 1,
      "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1,
      "num_attention_heads": 96, "num_experts_per_tok": 8, "num_hidden_layers": 46,
      "num_key_value_heads": 8, "num_nextn_predict_layers": 1, "vocab_size": 151552)";
  const Model m = imported("{" + air + R"(, "use_qk_norm": false})");
  EXPECT_NEAR(static_cast<double>(total(m)), 110e9, 1e9);  // with the module behind the last layer
  const std::int64_t ends = 2 * m.vocab * m.hidden;
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m) - ends), 12e9, 0.5e9);
  EXPECT_TRUE(m.qkv_bias && !m.attention_output_bias && !m.qk_norm);
  EXPECT_EQ(m.mtp_layers, 1);
  EXPECT_TRUE(imported("{" + air + R"(, "use_qk_norm": true})").qk_norm);
}

TEST(HfMixtures, DeepseekIsThePresetOfThatName) {
  const Model v3 =
      imported(R"({"model_type": "deepseek_v3"})");  // the class defaults are its shape
  const Model& preset = *find_preset("deepseek-v3");
  EXPECT_EQ(total(v3), total(preset));
  EXPECT_EQ(v3.head_dim, 192);
  EXPECT_EQ(v3.rope_head_dim, 64);
  EXPECT_EQ(v3.v_head_dim, 128);
  EXPECT_EQ(v3.q_lora_rank, 1536);
  EXPECT_FALSE(v3.has_experts(2));
  EXPECT_TRUE(v3.has_experts(3));
}

TEST(HfMixtures, DeepseekWithoutALatentOfTheQueriesSaysNull) {
  const Model lite = imported(R"({"model_type": "deepseek_v2", "hidden_size": 2048,
      "num_hidden_layers": 27, "num_attention_heads": 16, "intermediate_size": 10944,
      "q_lora_rank": null, "kv_lora_rank": 512, "n_routed_experts": 64, "n_shared_experts": 2,
      "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
      "moe_layer_freq": 1, "vocab_size": 102400})");
  EXPECT_EQ(lite.q_lora_rank, 0);
  EXPECT_EQ(total(lite), total(*find_preset("deepseek-v2-lite")));
}

// Layers whose index is a multiple of the frequency, counted from the first one of all.
TEST(HfMixtures, DeepseeksFrequencyCountsLayersFromTheFirst) {
  const auto with_experts = [](const std::string& keys) {
    const Model m =
        imported(R"({"model_type": "deepseek_v3", "num_hidden_layers": 8, )" + keys + "}");
    std::string out;
    for (std::int64_t l = 0; l < m.layers; ++l) out += m.has_experts(l) ? 'E' : '-';
    return out;
  };
  EXPECT_EQ(with_experts(R"("first_k_dense_replace": 1, "moe_layer_freq": 2)"), "--E-E-E-");
  EXPECT_EQ(with_experts(R"("first_k_dense_replace": 4, "moe_layer_freq": 3)"), "------E-");
  EXPECT_EQ(with_experts(R"("first_k_dense_replace": 3, "moe_layer_freq": 1)"), "---EEEEE");
  EXPECT_EQ(with_experts(R"("first_k_dense_replace": 7, "moe_layer_freq": 5)"), "--------");
}

TEST(HfMixtures, WhatChangesNoShapeOfDeepseekIsListedAsIgnored) {
  const ImportedModel m =
      import_hf_config(R"({"model_type": "deepseek_v3", "n_group": 8, "topk_group": 4})", "c.json");
  EXPECT_EQ(m.ignored_keys, (std::vector<std::string>{"n_group", "topk_group"}));
}

// The checkpoint has 684,489,830,400 weights, with the embedding and the output matrix, of 129,280
// by 7,168, a second time for the module, and without the experts' balancing biases.
TEST(HfMixtures, ModulesThatPredictFurtherTokensAreRead) {
  const Model m = imported(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})");
  EXPECT_EQ(m.mtp_layers, 1);
  EXPECT_EQ(total(m), 684'489'830'400 - 2 * 129'280 * 7'168);
  EXPECT_EQ(imported(R"({"model_type": "deepseek_v3"})").mtp_layers, 0);
}

TEST(HfMixtures, SparseStepCountsLayersFromOne) {
  const Model m = imported(R"({"model_type": "qwen2_moe", "decoder_sparse_step": 2})");
  EXPECT_FALSE(m.has_experts(0));
  EXPECT_TRUE(m.has_experts(1));
  EXPECT_EQ(m.shared_ffn_hidden, 5632);
  EXPECT_TRUE(m.shared_expert_gate);
}

// meta-llama/Llama-4-Maverick-17B-128E: 400 billion parameters, 17 of which a token meets.
constexpr const char* kMaverick = R"("num_local_experts": 128, "interleave_moe_layer_step": 2,
    "use_qk_norm": false, "max_position_embeddings": 262144)";

TEST(HfMixtures, Llama4IsThePresetsOfThatName) {
  const Model scout = imported(R"({"model_type": "llama4_text"})");  // the class's sizes
  EXPECT_EQ(total(scout), total(*find_preset("llama-4-scout")));
  EXPECT_NEAR(static_cast<double>(count_parameters(scout).active(scout)), 17e9, 0.3e9);
  const Model maverick = imported(std::string(R"({"model_type": "llama4", "vision_config": {},
      "text_config": {)") + kMaverick +
                                  "}}");
  expect_same_shape(maverick, *find_preset("llama-4-maverick"));
  EXPECT_NEAR(static_cast<double>(count_parameters(maverick).active(maverick)), 17e9, 0.3e9);
  EXPECT_FALSE(find_preset("llama-4-maverick")->has_experts(0));
  EXPECT_FALSE(maverick.has_experts(0));
  EXPECT_TRUE(maverick.has_experts(1));
}

TEST(HfMixtures, ChunksOfLlama4ArePlannedAsWindowsAndListed) {
  const std::string head = R"({"model_type": "llama4_text", "num_hidden_layers": 4, )";
  const auto all_in_third = R"("no_rope_layers": [1, 1, 0, 1], "attention_chunk_size": 4096})";
  const ImportedModel third = import_hf_config(head + all_in_third, "config.json");
  EXPECT_EQ(third.model.attention_window, 4096);
  EXPECT_EQ(third.model.full_attention_every, 3);
  EXPECT_TRUE(holds(third.ignored_keys, "attention_chunk_size"));
  EXPECT_TRUE(holds(third.assumed_defaults,
                    "rotary positions = in every layer, of which 1 of 4 have none"));
  EXPECT_EQ(imported(head + R"("layer_types": ["chunked_attention", "full_attention",
      "chunked_attention", "full_attention"]})")
                .full_attention_every,
            2);
  EXPECT_EQ(imported(head + R"("no_rope_layers": []})").full_attention_every, 4);
  EXPECT_EQ(imported(head + R"("attention_chunk_size": null})").attention_window, 0);
}

TEST(HfMixtures, ListsOfLlama4ThatFollowNoRuleAreRefused) {
  const std::string head = R"({"model_type": "llama4_text", "num_hidden_layers": 4, )";
  for (const char* rest :
       {R"("moe_layers": [0, 1]})", R"("interleave_moe_layer_step": 2, "moe_layers": [0, 2]})",
        R"("no_rope_layers": [1, 0, 0, 1]})",
        R"("layer_types": ["sliding_attention", "full_attention", "full_attention", "x"]})"})
    EXPECT_EQ(refusal(head + rest).code, "M004") << rest;
  EXPECT_EQ(refusal(head + R"("no_rope_layers": [1, 0]})").code, "M006");
  EXPECT_EQ(refusal(head + R"("attention_chunk_size": 0})").code, "M005");
  EXPECT_EQ(imported(head + R"("interleave_moe_layer_step": 2, "moe_layers": [1, 3]})").moe_every,
            2);
}

}  // namespace plait::hf_mixtures_test
