// config.json of models with gated delta nets.
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_delta_nets_test {

void expect_same_nets(const Model& a, const Model& b) {
  expect_same_mixers(a, b);
  EXPECT_EQ(a.attention_gate, b.attention_gate);
  EXPECT_EQ(a.rope_head_dim, b.rope_head_dim);
  EXPECT_EQ(a.experts, b.experts);
  EXPECT_EQ(a.experts_per_token, b.experts_per_token);
  EXPECT_EQ(a.expert_ffn_hidden, b.expert_ffn_hidden);
  EXPECT_EQ(a.shared_ffn_hidden, b.shared_ffn_hidden);
  EXPECT_EQ(a.shared_expert_gate, b.shared_expert_gate);
}

// Keys and values as published with Qwen/Qwen3-Next-80B-A3B-Instruct.
TEST(HfDeltaNets, Qwen3NextIsThePreset) {
  const ImportedModel got = import_hf_config(
      R"({"architectures": ["Qwen3NextForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "bos_token_id": 151643, "decoder_sparse_step": 1,
          "eos_token_id": 151645, "full_attention_interval": 4, "head_dim": 256,
          "hidden_act": "silu", "hidden_size": 2048, "initializer_range": 0.02,
          "intermediate_size": 5120, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
          "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
          "max_position_embeddings": 262144, "mlp_only_layers": [], "model_type": "qwen3_next",
          "moe_intermediate_size": 512, "num_attention_heads": 16, "num_experts": 512,
          "num_experts_per_tok": 10, "num_hidden_layers": 48, "num_key_value_heads": 2,
          "output_router_logits": false, "partial_rotary_factor": 0.25, "rms_norm_eps": 1e-06,
          "rope_scaling": null, "rope_theta": 10000000, "router_aux_loss_coef": 0.001,
          "shared_expert_intermediate_size": 512, "tie_word_embeddings": false,
          "torch_dtype": "bfloat16", "use_cache": true, "use_sliding_window": false,
          "vocab_size": 151936})",
      "config.json");
  expect_same_shape(got.model, *find_preset("qwen3-next-80b-a3b"));
  expect_same_nets(got.model, *find_preset("qwen3-next-80b-a3b"));
  EXPECT_TRUE(got.ignored_keys.empty());
  EXPECT_TRUE(got.assumed_defaults.empty());
}

// The class's defaults, and a text's part whose module stands in the file.
TEST(HfDeltaNets, Qwen35IsReadFromItsTextsPart) {
  const Model m = imported(
      R"({"model_type": "qwen3_5_moe", "vision_config": {"depth": 27}, "text_config": {
          "model_type": "qwen3_5_moe_text", "mtp_num_hidden_layers": 1,
          "mtp_use_dedicated_embeddings": false, "max_position_embeddings": 262144,
          "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}}})");
  const Model& preset = *find_preset("qwen3.5-35b-a3b");
  expect_same_shape(m, preset);
  expect_same_nets(m, preset);
  EXPECT_EQ(m.mtp_layers, 1);
}

TEST(HfDeltaNets, DenseOnesHaveAnMlpInEachLayer) {
  const Model m = imported(
      R"({"model_type": "qwen3_5_text", "layer_types": ["linear_attention", "full_attention"],
          "partial_rotary_factor": 0.5})");
  EXPECT_EQ(m.layer_pattern, "ga");
  EXPECT_EQ(m.layers, 2);
  EXPECT_EQ(m.dense_layers(), 2);
  EXPECT_EQ(m.rope_head_dim, 128);
  EXPECT_TRUE(m.attention_gate);
  EXPECT_FALSE(m.shared_expert_gate);
}

// Qwen/Qwen3.5-9B has the class's sizes: 9B with its two tables of 1.02B.
TEST(HfDeltaNets, OfTheClassHaveThePublishedParameters) {
  const Model m = imported(R"({"model_type": "qwen3_5_text"})");
  EXPECT_NEAR(static_cast<double>(total(m)), 9e9, 0.5e9);
}

TEST(HfDeltaNets, OfOtherPartsAreRefused) {
  for (const char* key :
       {R"("attn_output_gate": false)", R"("mlp_only_layers": [0])",
        R"("layer_types": ["sliding_attention"])", R"("mtp_use_dedicated_embeddings": true)"}) {
    EXPECT_EQ(refusal(R"({"model_type": "qwen3_next", )" + std::string(key) + "}").code, "M004")
        << key;
  }
  const InputError::Text kimi = refusal(R"({"model_type": "kimi_linear"})");
  EXPECT_EQ(kimi.code, "M004") << "known, and not planned";
  EXPECT_NE(kimi.problem.find("Kimi delta attention"), std::string::npos);
}

}  // namespace plait::hf_delta_nets_test
