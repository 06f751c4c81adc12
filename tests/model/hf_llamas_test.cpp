// config.json of models that differ from Llama in sizes and biases alone.
#include "tests/model/hf_configs.h"

namespace plait::hf_llamas_test {

double billions(const std::string& text) {
  return static_cast<double>(total(imported(text))) / 1e9;
}

// Their classes' sizes are those of mistralai/Ministral-3-8B-Base-2512, HuggingFaceTB/SmolLM3-3B
// and ByteDance-Seed/Seed-OSS-36B-Instruct.
TEST(HfLlamas, OfTheirClassesHaveThePublishedParameters) {
  EXPECT_NEAR(billions(R"({"model_type": "ministral3"})"), 8.49, 0.01);
  EXPECT_NEAR(billions(R"({"model_type": "smollm3"})"), 3.08, 0.01);
  EXPECT_NEAR(billions(R"({"model_type": "seed_oss"})"), 36.15, 0.01);
}

TEST(HfLlamas, MinistralIsReadFromItsTextsPart) {
  const Model m = imported(R"({"model_type": "mistral3", "vision_config": {"hidden_size": 1024},
      "text_config": {"model_type": "ministral3", "hidden_size": 5120, "head_dim": 128,
      "num_hidden_layers": 40, "intermediate_size": 16384, "sliding_window": null}})");
  EXPECT_EQ(m.head_dim, 128);
  EXPECT_EQ(m.layers, 40);
  EXPECT_EQ(m.attention_window, 0);
}

TEST(HfLlamas, SmolLm3SaysWhichLayersDoNotRotate) {
  const ImportedModel got = import_hf_config(
      R"({"model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0], "use_sliding_window": false,
          "sliding_window": null, "layer_types": ["full_attention", "full_attention"]})",
      "config.json");
  EXPECT_TRUE(got.model.tied_embeddings);
  EXPECT_FALSE(holds(got.ignored_keys, "no_rope_layers"));
  EXPECT_TRUE(
      holds(got.assumed_defaults, "rotary positions = in every layer, of which 1 of 36 have none"));
  EXPECT_TRUE(holds(import_hf_config(R"({"model_type": "smollm3"})", "x").assumed_defaults,
                    "rotary positions = in every layer, of which 9 of 36 have none"));
}

TEST(HfLlamas, SeedOssHasBiasesOfQueriesKeysAndValues) {
  for (const std::string& said :
       import_hf_config(R"({"model_type": "seed_oss"})", "config.json").assumed_defaults) {
    EXPECT_NE(said, "attention_dropout = 0") << "Llama's, beside its own";
  }
  const Model m = imported(R"({"model_type": "seed_oss", "residual_dropout": 0.1})");
  EXPECT_TRUE(m.qkv_bias);
  EXPECT_FALSE(m.attention_output_bias);
  EXPECT_DOUBLE_EQ(m.dropout, 0.1);
  EXPECT_EQ(imported(R"({"model_type": "seed_oss", "attention_dropout": 0, "residual_dropout": 0})")
                .dropout,
            0);
}

}  // namespace plait::hf_llamas_test
