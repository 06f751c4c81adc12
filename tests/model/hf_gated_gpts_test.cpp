// config.json of decoders with LayerNorm: gated MLPs, and those that state their sizes otherwise.
// Counts are what the sizes add up to; those of the comments are what the models are called by.
#include "tests/model/hf_configs.h"

namespace plait::hf_gated_gpts_test {

double billions(const Model& m) { return static_cast<double>(total(m)) * 1e-9; }

// stabilityai/stablelm-3b-4e1t, whose shape the class defaults are.
TEST(HfGatedGpts, ReadsStableLm) {
  const Model m = imported(R"({"model_type": "stablelm"})");
  EXPECT_EQ(total(m), 2'795'443'200);
  EXPECT_EQ(m.rope_head_dim, 20);
  EXPECT_EQ(refusal(R"({"model_type": "stablelm", "qk_layernorm": true})").where.path,
            "qk_layernorm");
  const Model side_by_side =
      imported(R"({"model_type": "stablelm", "use_parallel_residual": true})");
  EXPECT_TRUE(side_by_side.parallel_attention && side_by_side.shared_norm);
}

// microsoft/Phi-3.5-MoE-instruct: 41.9 billion parameters, 6.6 of which a token meets.
TEST(HfGatedGpts, ReadsPhi35Moe) {
  const Model m = imported(R"({"model_type": "phimoe", "attention_bias": true,
      "hidden_size": 4096, "intermediate_size": 6400, "lm_head_bias": true,
      "max_position_embeddings": 131072, "num_attention_heads": 32, "num_experts_per_tok": 2,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 16,
      "sliding_window": 131072, "tie_word_embeddings": false, "vocab_size": 32064})");
  EXPECT_NEAR(billions(m), 41.87, 0.01);
  EXPECT_NEAR(static_cast<double>(count_parameters(m).active(m)), 6.6e9, 0.1e9);
  EXPECT_TRUE(m.norm == NormKind::kLayerNorm && m.output_bias && m.qkv_bias);
}

// CohereLabs/c4ai-command-r-v01, whose shape the class defaults are, and c4ai-command-r7b-12-2024.
TEST(HfGatedGpts, ReadsCommandAndSaysThatBiasesOfNormsAreCounted) {
  const ImportedModel got = import_hf_config(R"({"model_type": "cohere"})", "config.json");
  EXPECT_NEAR(billions(got.model), 34.98, 0.005);
  EXPECT_TRUE(got.model.parallel_attention && got.model.shared_norm);
  EXPECT_TRUE(
      holds(got.assumed_defaults, "biases of LayerNorm = counted, which this family has not"));
  EXPECT_EQ(refusal(R"({"model_type": "cohere", "use_qk_norm": true})").where.path, "use_qk_norm");
  const ImportedModel windowed = import_hf_config(R"({"model_type": "cohere2", "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_pattern": 4})",
                                                  "config.json");
  EXPECT_NEAR(billions(windowed.model), 8.03, 0.005);
  EXPECT_EQ(windowed.model.windowed_layers(), 24);
  EXPECT_TRUE(holds(windowed.assumed_defaults,
                    "rotary positions = in every layer, of which 8 of 32 have none"));
}

// databricks/dbrx-base: 132 billion parameters, 36 of which a token meets.
TEST(HfGatedGpts, ReadsDbrxWithItsObjects) {
  const ImportedModel got = import_hf_config(R"({"model_type": "dbrx", "d_model": 6144,
      "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
      "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
      "emb_pdrop": 0.0, "max_seq_len": 32768, "n_heads": 48, "n_layers": 40,
      "resid_pdrop": 0.0, "tie_word_embeddings": false, "vocab_size": 100352})",
                                             "config.json");
  EXPECT_NEAR(billions(got.model), 131.6, 0.1);
  EXPECT_NEAR(static_cast<double>(count_parameters(got.model).active(got.model)), 36e9, 1e9);
  EXPECT_TRUE(
      holds(got.assumed_defaults, "attn_config.clip_qkv = null, as clipping is not planned"));
  EXPECT_TRUE(got.ignored_keys.empty());
}

// mosaicml/mpt-7b and mpt-30b: 6.7 and 30 billion parameters.
TEST(HfGatedGpts, ReadsMpt) {
  const std::string seven = R"({"model_type": "mpt", "d_model": 4096, "emb_pdrop": 0,
      "embedding_fraction": 1.0, "expansion_ratio": 4, "init_device": "cpu",
      "learned_pos_emb": true, "logit_scale": null, "max_seq_len": 2048, "n_heads": 32,
      "n_layers": 32, "no_bias": true, "norm_type": "low_precision_layernorm", "resid_pdrop": 0,
      "tokenizer_name": "EleutherAI/gpt-neox-20b", "verbose": 0, "vocab_size": 50432,
      "attn_config": {"alibi": true, "attn_pdrop": 0, "clip_qkv": )";
  const std::string rest = R"(, "prefix_lm": false, "qk_ln": false, "softmax_scale": null}})";
  const ImportedModel got = import_hf_config(seven + "null" + rest, "config.json");
  EXPECT_NEAR(billions(got.model), 6.65, 0.005);
  EXPECT_EQ(got.model.positions, PositionKind::kNone);
  EXPECT_TRUE(got.ignored_keys.empty());
  EXPECT_EQ(refusal(seven + "6" + rest).where.path, "attn_config.clip_qkv");
  EXPECT_NEAR(billions(imported(R"({"model_type": "mpt", "d_model": 7168, "n_heads": 64,
      "n_layers": 48, "max_seq_len": 8192, "vocab_size": 50432})")),
              29.96, 0.01);
}

// nvidia/Minitron-4B-Base.
TEST(HfGatedGpts, ReadsNemotron) {
  const Model m = imported(R"({"model_type": "nemotron", "hidden_act": "relu2",
      "hidden_size": 3072, "intermediate_size": 9216, "kv_channels": 128,
      "max_position_embeddings": 4096, "num_attention_heads": 24, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "norm_eps": 1e-05, "partial_rotary_factor": 0.5,
      "tie_word_embeddings": false, "vocab_size": 256000})");
  EXPECT_NEAR(billions(m), 4.19, 0.01);
  EXPECT_EQ(m.rope_head_dim, 64);
  EXPECT_FALSE(m.gated_mlp);
}

TEST(HfGatedGpts, KnownNetworksThatAreNotPlannedSayWhatTheyHave) {
  for (const char* name : {"mllama", "gemma3n_text", "jamba", "arctic", "minimax", "olmo",
                           "nemotron-nas", "phi3small", "falcon_h1", "deepseek_v32"}) {
    EXPECT_EQ(refusal(R"({"model_type": ")" + std::string(name) + R"("})").code, "M004") << name;
  }
  EXPECT_EQ(refusal(R"({"model_type": "mllama",
      "text_config": {"model_type": "mllama_text_model"}})")
                .code,
            "M004");
}

}  // namespace plait::hf_gated_gpts_test
