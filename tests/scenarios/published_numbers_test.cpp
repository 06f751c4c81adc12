// Numbers in the words of a record: which are read, and that one which cannot be read leaves out
// its own record alone.
#include <gtest/gtest.h>

#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_numbers_test {

using nlohmann::json;

constexpr const char* kTooLong = "99999999999999999999";

json mixture() {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  return record;
}

/// Why the record has no scenario; "": it has one.
std::string refusal_of(const json& record) {
  const PublishedRun run = run_of(record);
  try {
    scenario_of(run);
  } catch (const NotRepresentable& why) {
    return why.what();
  }
  return "";
}

TEST(PublishedNumbers, MayHaveCommasAndLengthsAnInitialOfThousands) {
  json record = published_sample();
  const auto length_of = [&](const json& said) {
    record["model"]["seq_len"] = said;
    return run_of(record).model.sequence_length;
  };
  EXPECT_EQ(length_of("8,192"), 8192);
  EXPECT_EQ(length_of("32K"), 32768);
  EXPECT_EQ(length_of("128k tokens"), 131072);
  EXPECT_EQ(length_of("4096"), 4096);
  EXPECT_EQ(length_of("8,19"), 0);  // is none, and listed
  record["cluster"]["num_gpus"] = "1,024";
  EXPECT_EQ(run_of(record).gpus, 1024);
}

TEST(PublishedNumbers, OfSharedExpertsAreTheirWidthOrHowManyThereAre) {
  json record = mixture();
  const auto reads = [&](const json& words) {
    record["model"]["shared_experts"] = words;
    return scenario(record)["model"]["shared_ffn_hidden"];
  };
  EXPECT_EQ(reads("1 shared expert, intermediate 20480"), 20480);
  EXPECT_EQ(reads("1 x 512"), 512);
  EXPECT_EQ(reads(2), 2 * 512);
  EXPECT_EQ(reads("1 shared expert"), 512);
  EXPECT_EQ(reads("2 shared experts"), 2 * 512);
  EXPECT_THROW(reads("a shared expert"), NotRepresentable);
  EXPECT_THROW(reads(kTooLong), NotRepresentable);
  EXPECT_THROW(reads(true), NotRepresentable);
}

TEST(PublishedNumbers, ThatCannotBeReadAreRefusedWithTheirWords) {
  json record = mixture();
  record["model"]["shared_experts"] = "one shared expert";
  EXPECT_EQ(refusal_of(record), "\"one shared expert\" says no number that can be read");
}

TEST(PublishedNumbers, BehindArgumentsAreOfAnyLengthAndZero) {
  json record = mixture();
  record["extra_args"] = {{"mtp-num-layers", kTooLong}};
  EXPECT_NE(refusal_of(record), "");
  record["extra_args"] = {{"moe-layer-freq", std::string("([0]*") + kTooLong + "+[1]*20)"}};
  EXPECT_NE(refusal_of(record), "");
  json hybrid = published_sample();
  hybrid["extra_args"] = {{"hybrid-layer-pattern", "M*"}, {"mamba-head-dim", "0"}};
  EXPECT_NO_THROW(scenario_of(run_of(hybrid)));
}

TEST(PublishedNumbers, OfAdapters) {
  json record = published_sample();
  record["task_kind"] = "lora";
  const auto reads = [&](const std::string& words) {
    record["notes"] = words;
    return scenario(record)["workload"]["lora"];
  };
  EXPECT_EQ(reads("r=8, alpha 16")["rank"], 8);
  EXPECT_THROW(reads(std::string("r=") + kTooLong), NotRepresentable);
  EXPECT_THROW(reads(std::string("r=8, alpha ") + kTooLong), NotRepresentable);
  EXPECT_EQ(reads("dropout 0." + std::string(400, '0') + "1")["dropout"], 0);
}

TEST(PublishedNumbers, OfLayersOnTheHostNodesAndRates) {
  json offloads = published_sample();
  const auto layers = [&](const char* words) {
    offloads["parallel"]["offload"] = words;
    return scenario(offloads)["strategy"]["offload"]["activation_layers"];
  };
  EXPECT_EQ(layers("activation offload 40 layers"), 40);
  EXPECT_THROW(layers("activation offload all layers"), NotRepresentable);
  json blocks = published_sample();
  blocks["notes"] = std::string("CUDA_LAUNCH_BLOCKING=1 at >=") + kTooLong + " nodes";
  EXPECT_NE(refusal_of(blocks), "");
  json fabric = published_sample();
  fabric["cluster"]["interconnect"] = std::string(400, '9') + " Gb/s per node";
  EXPECT_NE(refusal_of(fabric), "");
}

TEST(PublishedNumbers, OfSizesAreBounded) {
  json record = published_sample();
  record["parallel"] = {{"tp", 1 << 20}, {"pp", 1 << 20}, {"cp", 1 << 20}, {"dp", 1 << 20}};
  EXPECT_THROW(run_of(record), InputError);
  record["parallel"] = {{"tp", 2e9}};
  EXPECT_THROW(run_of(record), InputError);
}

TEST(PublishedNumbers, OfSizesAreWholeAndWordsInTheirPlaceAreListed) {
  json record = published_sample();
  record["cluster"]["num_gpus"] = 16.5;
  EXPECT_THROW(run_of(record), InputError);
  record = published_sample();
  record["batch"]["micro_batch"] = "two";
  const std::vector<std::string> unread = run_of(record).unread;
  ASSERT_EQ(unread.size(), 1U);
  EXPECT_EQ(unread[0], "batch.micro_batch (\"two\" is no number)");
  record = published_sample();
  record["model"]["vocab"] = "not published";
  EXPECT_TRUE(run_of(record).unread.empty());
}

TEST(PublishedNumbers, OfFsdpAreTheRanksThatShard) {
  json record = published_sample();
  const auto strategy = [&](const json& fsdp) {
    record["parallel"] = {{"fsdp", fsdp}};
    return scenario(record)["strategy"];
  };
  EXPECT_EQ(strategy(16)["fsdp"], 16);
  EXPECT_EQ(strategy(8)["fsdp"], 8);
  EXPECT_EQ(strategy(8)["dp"], 2);
  EXPECT_EQ(strategy("8")["fsdp"], 8);
  EXPECT_FALSE(strategy(1).contains("fsdp"));
  EXPECT_EQ(strategy("FULL_SHARD")["fsdp"], 16);
}

TEST(PublishedNumbers, InPlaceOfAPartAreNotAbsence) {
  json record = published_sample();
  record["parallel"] = json::array({4});
  EXPECT_THROW(run_of(record), InputError);
}

}  // namespace plait::published_numbers_test
