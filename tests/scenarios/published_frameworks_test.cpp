// Which profile a record gets by the name of its framework, and what profiles and years say of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/framework.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_frameworks_test {

using nlohmann::json;

json record_of(const std::string& framework) {
  json record = published_sample();
  record["source"] = "somebody's page", record["framework"] = framework;
  return record;
}
std::string profile(const std::string& framework) {
  return framework_of(run_of(record_of(framework)));
}
bool tells(const json& record, const std::string& words) {
  return std::ranges::count(scenario_of(run_of(record)).assumed, words) == 1;
}

TEST(PublishedFrameworks, AProfilesOwnNameChoosesIt) {
  for (const std::string& name : framework_names()) EXPECT_EQ(profile(name), name);
  EXPECT_EQ(profile("TorchTitan-2025"), "torchtitan-2025");
}

// SC21's script asks for torch's DDP, LiBai's scripts leave Megatron-LM's own.
TEST(PublishedFrameworks, MegatronLmAtItsDefaultsReducesGradientsBehindTheLastBackwardPass) {
  const auto overlaps = [](const std::string& framework) {
    return parse_scenario(R"({"framework": ")" + framework + R"(", "model": "gpt2",
        "cluster": "dgx-v100", "strategy": {"dp": 8},
        "workload": {"sequence_length": 1024, "global_batch": 8}})",
                          "ddp")
        .strategy.data.overlap;
  };
  EXPECT_TRUE(overlaps(profile("SC21")));
  EXPECT_FALSE(overlaps(profile("Megatron-LM e156d2fe")));
}

TEST(PublishedFrameworks, LettersOfEitherCaseNameOne) {
  EXPECT_EQ(profile("NEMO 24.07"), "nemo-launcher");
  EXPECT_EQ(profile("nemo 2.0"), "nemo");
  EXPECT_EQ(profile("NanoTron"), "nanotron");
  EXPECT_EQ(profile("megatron-lm, 2023"), "megatron-lm-2023");
  EXPECT_EQ(profile("MegatronLM"), "megatron-core");
  EXPECT_EQ(profile("PAXML (jax)"), "maxtext");
  EXPECT_EQ(profile("a Nemotron's"), "megatron-core") << "no NeMo";
}

TEST(PublishedFrameworks, TheYearOfItsNameComesBeforeTheSources) {
  json record = record_of("Megatron-LM 2021");
  record["source"] = "a paper of 2025";
  EXPECT_EQ(framework_of(run_of(record)), "megatron-lm-2021");
  EXPECT_EQ(profile("Megatron-DeepSpeed of 2022"), "megatron-deepspeed");
  EXPECT_EQ(profile("Megatron-DeepSpeed of 2023"), "megatron-deepspeed-flash");
}

TEST(PublishedFrameworks, AFrameworkAndASystemAreTwoNames) {
  json record = record_of("Megatron-LM");
  record["system"] = "2021 release";
  EXPECT_EQ(framework_of(run_of(record)), "megatron-lm-2021");
}

TEST(PublishedFrameworks, WhichWasChosenIsToldAndWhatNamesNone) {
  EXPECT_TRUE(tells(record_of("nanotron"), "profile: nanotron"));
  EXPECT_TRUE(
      tells(record_of("nanotron of March"), "profile: nanotron, by the framework (\"nanotron\")"));
  EXPECT_TRUE(tells(record_of("abacus 3"),
                    "profile: megatron-core, by the layout, for \"abacus 3\", which has none"));
  json record = record_of("");
  EXPECT_TRUE(tells(record, "profile: megatron-core, by the layout"));
  record["source"] = "torchtitan's docs";
  EXPECT_TRUE(tells(record, "profile: torchtitan, by the source (\"torchtitan\")"));
}

TEST(PublishedFrameworks, WhatARunIsComparedWithNamesNone) {
  json record = record_of("");
  for (const char* notes : {"12 % faster than nanotron", "without NeMo", "unlike torchtitan",
                            "ported from C++; no DeepSpeed"}) {
    record["notes"] = notes;
    EXPECT_EQ(framework_of(run_of(record)), "megatron-core") << notes;
  }
  record["notes"] = "with NeMo";
  EXPECT_EQ(framework_of(run_of(record)), "nemo");
}

TEST(PublishedFrameworks, HuggingFacesIsNoTorchtitanBesideItsFsdp) {
  json record = record_of("TRL, accelerate with FSDP2");
  record["parallel"] = {{"cp", 4}, {"dp", 4}, {"fsdp", "FSDP2"}};
  EXPECT_EQ(framework_of(run_of(record)), "transformers");
  record["framework"] = "TRL";
  EXPECT_EQ(framework_of(run_of(record)), "transformers");
  record["framework"] = "an own trainer";
  EXPECT_EQ(framework_of(run_of(record)), "torchtitan") << "by the layout";
  EXPECT_EQ(profile("NeMo AutoModel"), "torchtitan-2025");
}

TEST(PublishedFrameworks, OfThoseWithTorchtitansProfileItselfAloneHasTwoChunks) {
  json record = record_of("an own trainer");
  record["parallel"] = {
      {"tp", 2}, {"pp", 4}, {"dp", 2}, {"fsdp", "FSDP"}, {"schedule", "interleaved"}};
  const auto chunks = [&record] {
    return json::parse(scenario_of(run_of(record)).json)["strategy"]["pipeline"]["chunks"];
  };
  EXPECT_EQ(chunks(), 24 / 4);
  record["framework"] = "torchtitan";
  EXPECT_EQ(chunks(), 2);
}

TEST(PublishedFrameworks, PytorchsAttentionOnHopperIsThatOfItsYear) {
  json record = record_of("PyTorch FSDP");
  record["parallel"] = {{"dp", 16}, {"fsdp", "FULL_SHARD"}};
  const auto kernel = [&record](const std::string& source) {
    record["source"] = source;
    const json read = json::parse(scenario_of(run_of(record)).json);
    return read.contains("kernels") ? read["kernels"].value("attention", "") : "";
  };
  EXPECT_EQ(kernel("a page of 2024"), "sdpa");
  EXPECT_TRUE(tells(record, "attention: PyTorch's of 2024"));
  EXPECT_EQ(kernel("a page of 2026"), "") << "the profile's";
  record["kernel"] = "FlashAttention-3";
  EXPECT_EQ(kernel("a page of 2024"), "newest") << "it says so";
}

TEST(PublishedFrameworks, MegatronBridgeIsNemos) {
  EXPECT_EQ(profile("Megatron-Bridge 26.02"), "nemo");
}

TEST(PublishedFrameworks, ARecordMayHaveNone) {
  const json record = record_of("none");
  EXPECT_FALSE(json::parse(scenario_of(run_of(record)).json).contains("framework"));
  EXPECT_TRUE(tells(record, "profile: none, as the record says"));
}

TEST(PublishedFrameworks, NanotronWaitsForTensorParallelMessagesUnlessItSaysAsync) {
  json record = record_of("nanotron");
  const auto overlap = [&record] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.tensor.overlap;
  };
  EXPECT_EQ(overlap(), TensorOverlap::kNone);
  record["notes"] = "tp_mode REDUCE_SCATTER with tp_linear_async_communication.";
  EXPECT_EQ(overlap(), TensorOverlap::kWeightGrad);
  record["notes"] = "tp_linear_async_communication: false";
  EXPECT_EQ(overlap(), TensorOverlap::kNone);
}

TEST(PublishedFrameworks, MegatronLmCutMessagesBetweenStagesUntil2022) {
  json record = record_of("Megatron-LM 2022");
  const auto cuts = [&record] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample")
        .strategy.pipeline.scatter_gather;
  };
  EXPECT_TRUE(cuts());
  record["parallel"]["sp"] = true;
  EXPECT_FALSE(cuts());
  record["parallel"]["sp"] = false, record["framework"] = "Megatron-LM 2023";
  EXPECT_FALSE(cuts()) << "pipelines were in Megatron-Core";
}

TEST(PublishedFrameworks, VocabulariesThatRanksCannotShareArePadded) {
  json record = record_of("nanotron");
  const auto rows = [&record] {
    return json::parse(scenario_of(run_of(record)).json)["model"]["vocab"];
  };
  EXPECT_EQ(rows(), 50258) << "to tensor parallelism's 2";
  EXPECT_TRUE(tells(record, "vocabulary: 50258 rows for 50257"));
  record["framework"] = "megatron-core";
  EXPECT_EQ(rows(), 50432) << "to 2 x 128";
  EXPECT_TRUE(tells(record, "vocabulary: 50432 rows for 50257"));
  record["framework"] = "nanotron", record["model"]["vocab"] = 50304;
  EXPECT_EQ(rows(), 50304);
}

TEST(PublishedFrameworks, AHeadOfKeysThatSeveralRanksHaveIsPlannedOnEach) {
  json record = record_of("megatron-core");
  record["model"]["kv_heads"] = 1, record["parallel"] = {{"tp", 4}, {"dp", 4}};
  const json model = json::parse(scenario_of(run_of(record)).json)["model"];
  EXPECT_EQ(model["kv_heads"], 4);
  EXPECT_TRUE(tells(record, "keys and values: 1 heads on 4 ranks, copied"));
  record["parallel"] = {{"tp", 1}, {"dp", 16}};
  EXPECT_EQ(json::parse(scenario_of(run_of(record)).json)["model"]["kv_heads"], 1);
}

// Of FSDP's and DeepSpeed's the latter alone leaves parameters behind.
TEST(PublishedFrameworks, TheTrainersWithTheOptimizerAloneOnTheHostIsDeepSpeeds) {
  json record = published_sample();
  record["framework"] = "transformers";
  record["parallel"] = {{"dp", 16}, {"zero_stage", 3}, {"offload", "optimizer"}};
  const RecordScenario read = scenario_of(run_of(record));
  EXPECT_EQ(read.framework, "deepspeed-zero3");
  EXPECT_EQ(std::ranges::count(read.assumed, "profile: deepspeed-zero3 instead, by the layout"), 1);
  EXPECT_TRUE(parse_scenario(read.json, "sample").strategy.keep_weight_shard);
  record["parallel"]["offload"] = "cpu";
  EXPECT_EQ(scenario_of(run_of(record)).framework, "transformers");
}

}  // namespace plait::published_frameworks_test
