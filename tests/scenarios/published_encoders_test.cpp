// Records of encoders: the model that LiBai and Megatron-LM train under their name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_encoders_test {

using nlohmann::json;

/// BERT-large as LiBai's benchmark has it, tensor parallel over two GPUs.
json bert_record(const std::string& system) {
  json record = published_sample();
  record["source"] = "Oneflow-Inc/libai Benchmark.md";
  record["system"] = system;
  record["model"] = {{"name", "BERT"}, {"layers", 24},   {"hidden", 1024},    {"heads", 16},
                     {"vocab", 30522}, {"seq_len", 512}, {"gated_mlp", false}};
  record["parallel"] = {{"tp", 2}, {"pp", 1}, {"dp", 8}};
  return record;
}

TEST(PublishedEncoders, BertSeesAllTokensAndHasItsHead) {
  const json model = json::parse(scenario_of(run_of(bert_record("LiBai (OneFlow)"))).json)["model"];
  EXPECT_EQ(model["causal"], false);
  EXPECT_EQ(model["token_types"], 2);
  EXPECT_EQ(model["masked_lm_head"], true);
  EXPECT_FALSE(model.contains("norm_position")) << "both have norms in front";
  EXPECT_EQ(model["tied_embeddings"], true);
}

// A multiple of 128 tp: 30,720 for two ranks.
TEST(PublishedEncoders, BothProgramsPadTheVocabulary) {
  for (const char* system : {"LiBai (OneFlow)", "Megatron-LM e156d2fe"}) {
    const json model = json::parse(scenario_of(run_of(bert_record(system))).json)["model"];
    EXPECT_EQ(model["vocab"], 30720) << system;
  }
}

}  // namespace plait::published_encoders_test
