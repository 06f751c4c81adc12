// config.json of models that see: what is read is the language model.
#include "tests/model/hf_configs.h"

namespace plait::hf_vision_test {

// Qwen/Qwen2.5-VL-7B-Instruct, whose text's part is Qwen2.5-7B.
TEST(HfVision, Qwen25VlIsReadFromTheOuterKeys) {
  const ImportedModel got = import_hf_config(
      R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "attention_dropout": 0.0,
          "bos_token_id": 151643, "eos_token_id": 151645, "vision_start_token_id": 151652,
          "vision_end_token_id": 151653, "vision_token_id": 151654, "image_token_id": 151655,
          "video_token_id": 151656, "hidden_act": "silu", "hidden_size": 3584,
          "initializer_range": 0.02, "intermediate_size": 18944,
          "max_position_embeddings": 128000, "max_window_layers": 28, "model_type": "qwen2_5_vl",
          "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
          "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true,
          "use_sliding_window": false, "vision_config": {"depth": 32, "hidden_size": 1280},
          "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
          "vocab_size": 152064})",
      "config.json");
  EXPECT_EQ(total(got.model), 7'615'616'512);
  EXPECT_TRUE(got.model.qkv_bias);
  EXPECT_EQ(got.model.attention_window, 0);
  EXPECT_EQ(got.ignored_keys, std::vector<std::string>{"vision_config"});
  EXPECT_TRUE(got.assumed_defaults.empty());
}

// As transformers saves it: what stands in both places is said once.
TEST(HfVision, WhatTheTextsPartRepeatsIsNotIgnored) {
  const ImportedModel got = import_hf_config(
      R"({"model_type": "qwen2_5_vl", "hidden_size": 3584, "num_hidden_layers": 28,
          "vocab_size": 151936, "text_config": {"model_type": "qwen2_5_vl_text",
          "hidden_size": 3584, "num_hidden_layers": 28, "vocab_size": 152064}})",
      "config.json");
  EXPECT_EQ(got.model.vocab, 152'064);
  EXPECT_EQ(got.model.ffn_hidden, 29'568);  // the class's
  EXPECT_EQ(got.ignored_keys, (std::vector<std::string>{"model_type", "vocab_size"}));
}

// Qwen/Qwen3-VL-30B-A3B-Instruct, whose text's part is Qwen3-30B-A3B.
TEST(HfVision, Qwen3VlIsReadFromItsTextsPart) {
  const std::string sizes = R"("model_type": "qwen3_vl_moe_text", "attention_bias": false,
      "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
      "mlp_only_layers": [], "moe_intermediate_size": 768, "num_attention_heads": 32,
      "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
      "vocab_size": 151936)";
  const auto with = [&](const std::string& experts) {
    return imported(R"({"model_type": "qwen3_vl_moe", "tie_word_embeddings": false,
        "vision_config": {"depth": 27}, "text_config": {)" +
                    sizes + ", " + experts + "}}");
  };
  EXPECT_EQ(total(with(R"("num_experts": 128)")), 30'532'122'624);
  EXPECT_EQ(total(with(R"("num_local_experts": 128)")), 30'532'122'624);
  EXPECT_TRUE(imported(R"({"text_config": {"model_type": "qwen3_vl_text"}})").qk_norm);
}

}  // namespace plait::hf_vision_test
