// config.json of encoders.
#include "model/presets.h"
#include "tests/model/hf_configs.h"

namespace plait::hf_encoders_test {

// Keys and values as published with google-bert/bert-large-uncased.
TEST(HfEncoders, BertIsThePresetWithItsMaskedLmHead) {
  const ImportedModel got = import_hf_config(
      R"({"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
          "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
          "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096,
          "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
          "num_attention_heads": 16, "num_hidden_layers": 24, "pad_token_id": 0,
          "position_embedding_type": "absolute", "type_vocab_size": 2, "use_cache": true,
          "vocab_size": 30522})",
      "config.json");
  expect_same_shape(got.model, *find_preset("bert-large"));
  EXPECT_EQ(got.ignored_keys, (std::vector<std::string>{"gradient_checkpointing"}));
  EXPECT_EQ(got.assumed_defaults, (std::vector<std::string>{"tie_word_embeddings = true"}));
}

TEST(HfEncoders, BertWithoutAnyKeyIsBertBase) {
  expect_same_shape(imported(R"({"model_type": "bert"})"), *find_preset("bert-base"));
}

// FacebookAI/roberta-base.
TEST(HfEncoders, RobertaHasOneTypeOfTokensAndTwoPositionsMore) {
  expect_same_shape(imported(R"({"model_type": "roberta", "max_position_embeddings": 514,
                                 "type_vocab_size": 1})"),
                    *find_preset("roberta-base"));
}

TEST(HfEncoders, ThatReadDistancesOrAnotherModelAreRefused) {
  for (const char* key : {R"("position_embedding_type": "relative_key")", R"("is_decoder": true)",
                          R"("add_cross_attention": true)"}) {
    EXPECT_EQ(refusal(R"({"model_type": "bert", )" + std::string(key) + "}").code, "M004") << key;
  }
}

}  // namespace plait::hf_encoders_test
