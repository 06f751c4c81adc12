// The low-rank adapters of published runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/validate.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_adapters_test {

using nlohmann::json;

// Records do not say which adapters; the performance recipes of Megatron-Bridge have them on qkv.
TEST(PublishedAdapters, AreThoseOfTheRecipe) {
  json record = published_sample();
  record["task_kind"] = "lora";
  const auto adapters = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").workload.lora;
  };
  EXPECT_EQ(adapters(), (LowRankAdapters{.rank = 32}));
  record["source"] = "NVIDIA Megatron-Bridge docs/performance-summary.md, release 26.02";
  EXPECT_EQ(adapters(), (LowRankAdapters{8, 16, {AdapterTarget::kQkv}}));
  record["source"] = "MLPerf Training 4.1, Llama 2 70B LoRA";
  EXPECT_EQ(adapters(), (LowRankAdapters{16, 32, {AdapterTarget::kQkv, AdapterTarget::kOut}}));
  const std::vector<std::string> assumed = scenario_of(run_of(record)).assumed;
  EXPECT_TRUE(std::ranges::any_of(
      assumed, [](const std::string& a) { return a.starts_with("adapters: "); }));
}

TEST(PublishedAdapters, OfARecipeHaveTheRankThatTheRecordStates) {
  json record = published_sample();
  record["task_kind"] = "lora", record["notes"] = "task: LoRA Performance; LoRA r=16";
  record["source"] = "NVIDIA Megatron-Bridge docs/performance-summary.md, release 26.06";
  const RecordScenario written = scenario_of(run_of(record));
  const LowRankAdapters lora = parse_scenario(written.json, "sample").workload.lora;
  EXPECT_EQ(lora.rank, 16);
  EXPECT_EQ(lora.targets, std::vector<AdapterTarget>{AdapterTarget::kQkv});
  EXPECT_EQ(std::ranges::count(written.assumed,
                               "adapters, their products: qkv, those of the performance recipes"),
            1);
}

LowRankAdapters noted(const std::string& words, bool gated = true) {
  json record = published_sample();
  record["task_kind"] = "lora", record["notes"] = words, record["model"]["gated_mlp"] = gated;
  record["precision"] = "bf16";
  return parse_scenario(scenario_of(run_of(record)).json, "sample").workload.lora;
}

TEST(PublishedAdapters, AreThoseThatARecordStates) {
  using T = AdapterTarget;
  const std::vector<T> all = {T::kQ, T::kK, T::kV, T::kOut, T::kGateHalf, T::kUpHalf, T::kDown};
  EXPECT_EQ(noted("lora r=8 on q,v"), (LowRankAdapters{8, 0, {T::kQ, T::kV}}));
  EXPECT_EQ(noted("LoRA r 8, alpha 16 on q and v; bf16-true"),
            (LowRankAdapters{8, 16, {T::kQ, T::kV}}));
  EXPECT_EQ(noted("rank 16, alpha 32, all linear layers"), (LowRankAdapters{16, 32, all}));
  EXPECT_EQ(noted("LoRA rank 64 on all", false).targets,
            (std::vector<T>{T::kQ, T::kK, T::kV, T::kOut, T::kUp, T::kDown}));
  EXPECT_EQ(
      noted("LoRA rank 64, alpha 16, dropout 0.05 on c_attn c_proj w1 w2. PyTorch 2.0"),
      (LowRankAdapters{64, 16, {T::kQkv, T::kOut, T::kDown, T::kGateHalf, T::kUpHalf}, 0.05}));
  EXPECT_EQ(noted("LoRA on Alpaca"), (LowRankAdapters{.rank = 32})) << "no product's name";
}

TEST(PublishedAdapters, OfAMemberOfTheirOwn) {
  json record = published_sample();
  record["task_kind"] = "lora";
  record["adapters"] = {{"rank", 4}, {"alpha", 8}, {"targets", {"q_proj", "o_proj"}}};
  const RecordScenario written = scenario_of(run_of(record));
  EXPECT_EQ(parse_scenario(written.json, "sample").workload.lora,
            (LowRankAdapters{4, 8, {AdapterTarget::kQ, AdapterTarget::kOut}}));
  EXPECT_TRUE(std::ranges::none_of(written.assumed,
                                   [](const std::string& a) { return a.starts_with("adapters"); }));
  record["adapters"] = {{"rank", 4}};
  EXPECT_EQ(std::ranges::count(scenario_of(run_of(record)).assumed,
                               "adapters, their products: all four products of a layer, "
                               "Megatron-Bridge's default"),
            1);
}

TEST(PublishedAdapters, BesideFrozenWeightsInFourBits) {
  json record = published_sample();
  record["task_kind"] = "lora";
  const auto frozen = [&](const char* precision, const char* notes) {
    record["precision"] = precision, record["notes"] = notes;
    const LowRankAdapters a =
        parse_scenario(scenario_of(run_of(record)).json, "sample").workload.lora;
    return std::pair(a.quantizes(), a.double_quantized);
  };
  EXPECT_EQ(frozen("bf16, frozen weights bnb.nf4", ""), std::pair(true, false));
  EXPECT_EQ(frozen("bf16, frozen weights bnb.nf4-dq", ""), std::pair(true, true));
  EXPECT_EQ(frozen("bf16, frozen weights NF4", ""), std::pair(true, true));
  EXPECT_EQ(frozen("bf16", "rank 64; QLoRA"), std::pair(true, true));
  EXPECT_EQ(frozen("fp16, frozen weights GPTQ int4", "Q-LoRA"), std::pair(true, true));
  EXPECT_EQ(frozen("bf16", "4-bit base"), std::pair(true, true));
  EXPECT_FALSE(frozen("bf16", "LoRA").first);
  for (const char* words : {"8-bit base", "int8 weights", "load_in_8bit", "frozen weights int8"})
    EXPECT_THROW(frozen("bf16", words), NotRepresentable) << words;
  for (const char* words : {"8-bit Adam", "AdamW 8-bit", "paged_adamw_8bit"})
    EXPECT_FALSE(frozen("bf16", words).first) << words;
}

// A record of the shape of Megatron-Bridge's tables, Llama 3 70B on eight GPUs; none of those that
// are published here has adapters.
json record_of_adapters(const char* precision) {
  json record = published_sample();
  record["source"] = "NVIDIA Megatron-Bridge docs/performance-summary.md, release 26.02";
  record["framework"] = "Megatron-Bridge";
  record["task_kind"] = "lora", record["precision"] = precision;
  record["model"] = {{"name", "Llama 3 70B"}, {"layers", 80},    {"hidden", 8192},
                     {"ffn_hidden", 28672},   {"heads", 64},     {"kv_heads", 8},
                     {"vocab", 128256},       {"seq_len", 4096}, {"gated_mlp", true}};
  record["cluster"] = {{"gpu", "H100-SXM5-80GB"}, {"num_gpus", 8}, {"gpus_per_node", 8}};
  record["parallel"] = {{"tp", 2}, {"sp", true}, {"cp", 1},        {"ep", 1},
                        {"pp", 2}, {"dp", 2},    {"zero_stage", 1}};
  record["batch"] = {{"global_batch", 32}, {"micro_batch", 1}};
  record.erase("recompute");
  return record;
}

// Which no plan has: the record is predicted without, and says so.
TEST(PublishedAdapters, TensorParallelMessagesAreWholeBesideThem) {
  json record = record_of_adapters("BF16");
  record["notes"] = "TP_COMM_OVERLAP";
  const RecordScenario written = scenario_of(run_of(record));
  const Scenario s = parse_scenario(written.json, "sample");
  EXPECT_TRUE(validate(make_plan(s.model, s.workload, s.strategy)).empty());
  EXPECT_EQ(
      std::ranges::count(written.assumed, "tensor parallelism in pieces: not beside adapters"), 1);
}

TEST(PublishedAdapters, BesideNarrowProductsArePlannedAsTheRecipeKeepsItsWeights) {
  struct Case {
    const char* precision;
    DType products;
    NarrowWeights kept;
  };
  for (const Case& c : {Case{"BF16", DType::kBf16, NarrowWeights::kNone},
                        Case{"FP8-CS", DType::kFp8, NarrowWeights::kGathered},
                        Case{"FP8-MX", DType::kFp8, NarrowWeights::kKept},
                        Case{"NVFP4", DType::kNvfp4, NarrowWeights::kNone}}) {
    const RecordScenario written = scenario_of(run_of(record_of_adapters(c.precision)));
    const Scenario s = parse_scenario(written.json, "sample");
    EXPECT_EQ(s.workload.lora, (LowRankAdapters{8, 16, {AdapterTarget::kQkv}})) << c.precision;
    EXPECT_EQ(s.workload.precision.products(), c.products);
    EXPECT_EQ(s.workload.precision.narrow_weights, c.kept);
    EXPECT_TRUE(validate(make_plan(s.model, s.workload, s.strategy)).empty()) << c.precision;
  }
}

}  // namespace plait::published_adapters_test
