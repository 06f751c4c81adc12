// The words by which sources of all kinds call recomputation: what is read, what is listed among
// what was assumed, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_recompute_test {

using nlohmann::json;

TEST(PublishedRecompute, IsReadOfManyWords) {
  json record = published_sample();
  const auto reads = [&](const char* text) {
    record["recompute"] = text;
    return scenario(record)["strategy"]["recompute"];
  };
  EXPECT_EQ(reads("selective"), "selective");
  EXPECT_TRUE(assumes(record, "recomputation \"selective\": of attention"));
  EXPECT_EQ(reads("selective: core_attn"), "selective");
  EXPECT_EQ(reads("no"), "none");
  EXPECT_EQ(reads("Full (uniform)"), "full");
  EXPECT_EQ(reads("full, block 4"), json::parse(R"({"kind": "full", "layers": 4})"));
  EXPECT_EQ(reads("full, by blocks"), "full");
  EXPECT_TRUE(assumes(record, "recomputation \"full, by blocks\": of all layers"));
  EXPECT_EQ(reads("every other layer"), json::parse(R"({"kind": "full", "every": 2})"));
  EXPECT_EQ(reads("activation checkpointing"), "full");
  EXPECT_EQ(reads("checkpoint=True"), "full");
  EXPECT_EQ(reads("checkpoint=False"), "none");
  EXPECT_EQ(reads("gradient_checkpointing=True"), "full");
  EXPECT_EQ(reads("enable_activation_checkpointing: False"), "none");
  EXPECT_EQ(reads("enabled"), "full");
  EXPECT_EQ(reads("disabled"), "none");
  EXPECT_EQ(reads("selective AC: 1/2 blocks"), json::parse(R"({"kind": "full", "every": 2})"));
  EXPECT_EQ(reads("full, no activation offload"), "full");
  EXPECT_EQ(reads("full (offload_activations=False)"), "full");
  EXPECT_THROW(reads("full + offload to CPU"), NotRepresentable);
  EXPECT_EQ(reads("mlp+attn"),
            json::parse(R"({"kind": "modules", "modules": ["mlp", "attention"]})"));
  EXPECT_TRUE(assumes(record, "recomputation \"mlp+attn\": of MLPs and of attention's core"));
  EXPECT_EQ(reads("every layer"), "full");
  EXPECT_EQ(reads("attention only"), "selective");
  EXPECT_EQ(reads("mlp"), json::parse(R"({"kind": "modules", "modules": ["mlp"]})"));
  EXPECT_EQ(reads("selective: norm, weights"),
            json::parse(R"({"kind": "modules", "modules": ["norms"]})"));
  EXPECT_TRUE(assumes(record, "recomputation of \"weights\": none"));
  EXPECT_EQ(reads("layernorm, mlp"),
            json::parse(R"({"kind": "modules", "modules": ["norms", "mlp"]})"));
  EXPECT_EQ(reads("[core_attn]"), "selective");
  EXPECT_EQ(reads("selective: core_attn/mlp"),
            json::parse(R"({"kind": "modules", "modules": ["mlp", "attention"]})"));
  record["recompute"] = {"mlp", "layernorm"};
  EXPECT_EQ(scenario(record)["strategy"]["recompute"]["modules"], json({"norms", "mlp"}));
  EXPECT_EQ(reads("selective (layernorm, mlp)"),
            json::parse(R"({"kind": "modules", "modules": ["norms", "mlp"]})"));
  EXPECT_EQ(reads("selective [core_attn]"), "selective");
  EXPECT_EQ(reads("full: 10 of 24 layers"), "full") << "of stages that hold fewer";
  EXPECT_TRUE(assumes(record, "recomputation \"full: 10 of 24 layers\": of all layers"));
  record["parallel"] = {{"tp", 2}, {"pp", 4}};
  EXPECT_EQ(reads("full for 2 of 6 layers"), json::parse(R"({"kind": "full", "layers": 2})"));
  record["parallel"] = {{"tp", 2}, {"pp", 1}};
  EXPECT_EQ(reads("full: 10 of 24 layers"), json::parse(R"({"kind": "full", "layers": 10})"));
  EXPECT_EQ(reads("full: 10/24 layers"), json::parse(R"({"kind": "full", "layers": 10})"));
  EXPECT_EQ(reads("partial, 16 layers"), json::parse(R"({"kind": "full", "layers": 16})"));
  record["source"] = "torchtitan";
  EXPECT_EQ(reads("selective"), "ops");
  EXPECT_THROW(reads("some of it"), NotRepresentable);
}

TEST(PublishedRecompute, OfWholeMixturesComputedAgain) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  for (const char* text : {"selective: moe/layernorm", "moe, layernorm"}) {
    record["recompute"] = text;
    const RecordScenario made = scenario_of(run_of(record));
    EXPECT_EQ(json::parse(made.json)["strategy"]["recompute"],
              json::parse(R"({"kind": "modules", "modules": ["norms", "moe"]})"));
    EXPECT_NO_THROW(parse_scenario(made.json, "record"));
  }
  EXPECT_FALSE(assumes(record, "recomputation of \"moe\": none"));
}

TEST(PublishedRecompute, OfMegatronBridgesNumberOfLayersComputedAgain) {
  json record = published_sample();
  record["recompute"] = "full (recompute_num_layers=2)";
  EXPECT_EQ(scenario(record)["strategy"]["recompute"], "full");
  record["source"] = "NVIDIA Megatron-Bridge performance recipes";
  const json block = json::parse(R"({"kind": "full", "layers": 2})");
  EXPECT_EQ(scenario(record)["strategy"]["recompute"], block);
  EXPECT_TRUE(assumes(record, "recomputation \"full (recompute_num_layers=2)\": method block"));
  record["recompute"] = "recompute_num_layers=2";
  EXPECT_EQ(scenario(record)["strategy"]["recompute"], block);
  record["recompute"] = "full, uniform (recompute_num_layers=2)";
  EXPECT_EQ(scenario(record)["strategy"]["recompute"], "full");
}

}  // namespace plait::published_recompute_test
