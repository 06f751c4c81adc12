// config.json of models with state-space mixers.
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_hybrids_test {

// Keys and values as published with nvidia/Nemotron-H-8B-Base-8K.
TEST(HfHybrids, NemotronHIsThePreset) {
  const ImportedModel got = import_hf_config(
      R"({"architectures": ["NemotronHForCausalLM"], "attention_bias": false,
          "attention_dropout": 0.0, "attention_head_dim": 128, "chunk_size": 128, "conv_kernel": 4,
          "expand": 2, "hidden_dropout": 0.0, "hidden_size": 4096,
          "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
          "intermediate_size": 21504, "layer_norm_epsilon": 1e-05, "mamba_head_dim": 64,
          "mamba_hidden_act": "silu", "mamba_num_heads": 128, "mamba_proj_bias": false,
          "max_position_embeddings": 8192, "mlp_bias": false, "mlp_hidden_act": "relu2",
          "model_type": "nemotron_h", "n_groups": 8, "num_attention_heads": 32,
          "num_hidden_layers": 52, "num_key_value_heads": 8, "num_logits_to_keep": 1,
          "rescale_prenorm_residual": true, "residual_in_fp32": false, "rms_norm_eps": 1e-05,
          "ssm_state_size": 128, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
          "use_bias": false, "use_conv_bias": true, "vocab_size": 131072})",
      "config.json");
  expect_same_shape(got.model, *find_preset("nemotron-h-8b"));
  expect_same_mixers(got.model, *find_preset("nemotron-h-8b"));
  EXPECT_TRUE(got.ignored_keys.empty());
  EXPECT_TRUE(got.assumed_defaults.empty());
}

TEST(HfHybrids, NemotronHMayNameItsLayersAndHaveExperts) {
  const Model m = imported(
      R"({"model_type": "nemotron_h", "layers_block_type": ["mamba", "moe", "full_attention", "mlp"],
          "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
          "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712})");
  EXPECT_EQ(m.layer_pattern, "ME*-");
  EXPECT_EQ(m.experts, 128);
  EXPECT_EQ(m.experts_per_token, 6);
  EXPECT_EQ(m.expert_ffn_hidden, 1856);
  EXPECT_EQ(m.shared_ffn_hidden, 3712);
}

// mistralai/Mamba-Codestral-7B-v0.1 has the defaults of the class.
TEST(HfHybrids, Mamba2HasMixersAlone) {
  const Model m = imported(R"({"model_type": "mamba2"})");
  EXPECT_EQ(m.layer_pattern, std::string(64, 'M'));
  EXPECT_EQ(m.state_width(), 8192);
  EXPECT_EQ(m.state_groups, 8);
  EXPECT_NEAR(static_cast<double>(total(m)), 7.29e9, 0.01e9);
}

TEST(HfHybrids, BambaHasAnMlpInEachLayer) {
  const Model m = imported(
      R"({"model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2],
          "mamba_d_head": "auto"})");
  EXPECT_EQ(m.layer_pattern, "mmam");
  EXPECT_EQ(m.state_head_dim, 2 * 4096 / 128);
  EXPECT_EQ(m.state_size, 256);
}

TEST(HfHybrids, GraniteHasAnMlpOrExpertsInEachLayer) {
  const char* dense = R"({"model_type": "granitemoehybrid", "num_local_experts": 0,
      "layer_types": ["mamba", "attention"], "shared_intermediate_size": 512})";
  EXPECT_EQ(imported(dense).layer_pattern, "ma");
  EXPECT_EQ(imported(dense).ffn_hidden, 512);
  const Model m =
      imported(R"({"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"]})");
  EXPECT_EQ(m.layer_pattern, "ma");
  EXPECT_EQ(m.layers, 2);
  EXPECT_EQ(m.moe_layers(), 2);
  EXPECT_EQ(m.expert_ffn_hidden, 11008);
  EXPECT_EQ(m.shared_ffn_hidden, 1024);
}

TEST(HfHybrids, OfOtherPartsAreRefused) {
  for (const char* key :
       {R"("use_conv_bias": false)", R"("mamba_proj_bias": true)", R"("use_bias": true)",
        R"("num_nextn_predict_layers": 1)", R"("layers_block_type": ["mamba", "rwkv"])"}) {
    EXPECT_EQ(refusal(R"({"model_type": "nemotron_h", )" + std::string(key) + "}").code, "M004")
        << key;
  }
}

}  // namespace plait::hf_hybrids_test
