// Members of a record: which are read, which go into a scenario as they are, which are listed.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_members_test {

using nlohmann::json;

json model(const json& record) { return json::parse(scenario_of(run_of(record)).json)["model"]; }

std::vector<std::string> unread(const json& record) { return run_of(record).unread; }

TEST(PublishedMembers, OfAModelThatAScenarioHasGoThere) {
  json record = published_sample();
  EXPECT_FALSE(model(record).contains("head_dim"));
  record["model"]["head_dim"] = 160;
  record["model"]["attention_window"] = 512;
  record["model"]["qk_norm"] = true;
  record["model"]["positions"] = "rotary";
  const json m = model(record);
  EXPECT_EQ(m["head_dim"], 160);
  EXPECT_EQ(m["attention_window"], 512);
  EXPECT_EQ(m["qk_norm"], true);
  EXPECT_EQ(m["positions"], "rotary") << "in place of the family's";
  EXPECT_TRUE(unread(record).empty());
}

TEST(PublishedMembers, OfABatchThatAWorkloadHasGoThere) {
  json record = published_sample();
  record["batch"]["loss_pieces"] = 4;
  record["batch"]["documents"] = {{"length", 256}};
  const json workload = json::parse(scenario_of(run_of(record)).json)["workload"];
  EXPECT_EQ(workload["loss_pieces"], 4);
  EXPECT_EQ(workload["documents"], json::parse(R"({"length": 256})"));
  EXPECT_TRUE(unread(record).empty());
}

// 16 replicas that share the optimizer's state by eights, as two instances of it.
TEST(PublishedMembers, AGroupThatSharesWhatIsShardedIsAnAxis) {
  json record = published_sample();
  for (const int stage : {1, 3}) {
    record["parallel"] = {{"dp", 16}, {"zero_stage", stage}, {"zero_group", 8}};
    const json strategy = json::parse(scenario_of(run_of(record)).json)["strategy"];
    EXPECT_EQ(strategy["dp"], 2);
    EXPECT_EQ(strategy["fsdp"], 8);
    EXPECT_EQ(strategy.value("zero_stage", 3), stage);
  }
}

TEST(PublishedMembers, AGroupThatDoesNotDivideTheRanksIsTold) {
  json record = published_sample();
  for (const int stage : {1, 3}) {
    record["parallel"] = {{"dp", 16}, {"zero_stage", stage}, {"zero_group", 6}};
    try {
      scenario_of(run_of(record));
      FAIL() << stage;
    } catch (const NotRepresentable& e) {
      const std::string told = e.what();
      EXPECT_NE(told.find("parallel.zero_group 6 leaves over 4 of 16 ranks"), told.npos) << told;
    }
  }
}

// torch.cuda.max_memory_allocated of one CI run: 4,702,430,720 bytes.
TEST(PublishedMembers, OfTwoMemoriesTheExactOneCounts) {
  json record = published_sample();
  const auto told = [&record] {
    const std::vector<std::string> all = scenario_of(run_of(record)).assumed;
    return std::ranges::count(all, "measured memory: GB of 2^30 bytes");
  };
  record["measured"] = {{"peak_memory_gb", 4.7024}};
  EXPECT_EQ(told(), 1);
  record["measured"]["mem_max_allocated_bytes"] = 4'702'430'720;
  EXPECT_EQ(*run_of(record).measured.memory_bytes, 4'702'430'720);
  EXPECT_EQ(told(), 0);
}

// Qwen3 32B: 64 layers of 5,120, 64 heads; 5120 / 64 is 80.
TEST(PublishedMembers, UnitsOfMemoryThatAreTakenAreListed) {
  const std::pair<const char*, const char*> cases[] = {
      {"peak_memory_allocated_gb", "measured memory: GB of 2^30 bytes"},
      {"peak_memory_reserved_mb", "measured memory: MB of 2^20 bytes"},
      {"peak_memory_allocated_gib", ""},
      {"peak_memory_gb_nvidia_smi", ""}};
  for (const auto& [member, told] : cases) {
    json record = published_sample();
    record["measured"] = {{"iteration_time_s", 1}, {member, 40}};
    std::vector<std::string> all = scenario_of(run_of(record)).assumed;
    std::erase_if(all, [](const std::string& a) { return !a.starts_with("measured memory"); });
    EXPECT_EQ(all, *told == 0 ? std::vector<std::string>{} : std::vector<std::string>{told})
        << member;
  }
}

/// One that has a time did run.
TEST(PublishedMembers, OfATimeAndNoMemoryLeftTheTimeCounts) {
  json record = published_sample();
  record["measured"] = {{"iteration_time_s", 1}, {"oom", true}};
  EXPECT_FALSE(run_of(record).measured.out_of_memory);
  EXPECT_EQ(unread(record),
            std::vector<std::string>{
                "measured.oom (true beside the time or rate of a run, which counts)"});
  record["measured"] = {{"oom", true}};
  EXPECT_TRUE(run_of(record).measured.out_of_memory);
  EXPECT_TRUE(unread(record).empty());
}

TEST(PublishedMembers, ASharePerhapsInPercentIsNotCounted) {
  json record = published_sample();
  record["measured"] = {{"mfu", 1.3}};
  EXPECT_FALSE(run_of(record).measured.mfu);
  EXPECT_EQ(unread(record),
            std::vector<std::string>{"measured.mfu (1.3 is no share up to 1, and too "
                                     "little for a percentage)"});
  for (const auto& [value, share] :
       {std::pair(json(1), 1.0), std::pair(json("1.3 %"), 0.013), std::pair(json(2.5), 0.025)}) {
    record["measured"] = {{"mfu", value}};
    EXPECT_DOUBLE_EQ(run_of(record).measured.mfu.value(), share);
  }
}

TEST(PublishedMembers, HeadsThatAreNotSaidAreThoseOfThePresetWithTheSameSizes) {
  json record = published_sample();
  record["parallel"] = {{"dp", 16}};
  record["model"] = {{"name", "a model"}, {"layers", 64},    {"hidden", 5120},
                     {"heads", 64},       {"kv_heads", 8},   {"ffn_hidden", 25600},
                     {"seq_len", 4096},   {"vocab", 151936}, {"gated_mlp", true}};
  EXPECT_EQ(model(record)["head_dim"], 128);
  EXPECT_EQ(
      std::ranges::count(scenario_of(run_of(record)).assumed, "heads of 128: those of qwen3-32b"),
      1);
  record["model"]["head_dim"] = 80;
  EXPECT_EQ(model(record)["head_dim"], 80);
  record["model"].erase("head_dim"), record["model"]["layers"] = 63;
  EXPECT_FALSE(model(record).contains("head_dim"));
  record["model"]["name"] = "Qwen3-31B";
  EXPECT_EQ(model(record)["head_dim"], 128) << "the family's";
}

TEST(PublishedMembers, ThatNobodyReadsAreListedWithWhatTheyMayMean) {
  json record = published_sample();
  EXPECT_TRUE(unread(record).empty());
  record["parallel"]["zero"] = 1;
  record["batch"]["microbatch"] = 2;
  record["model"]["sliding_window"] = 4096;
  record["model"]["colour"] = "red";
  record["cluster"]["num_gpu"] = 8;
  record["measured"]["tokens_per_gpu_per_s"] = 5;
  record["precison"] = "bf16";
  const std::vector<std::string> expected = {
      "precison (did you mean \"precision\"?)",
      "model.colour",
      "model.sliding_window (did you mean \"attention_window\"?)",
      "cluster.num_gpu (did you mean \"num_gpus\"?)",
      "parallel.zero (did you mean \"zero_stage\"?)",
      "batch.microbatch (did you mean \"micro_batch\"?)",
      "measured.tokens_per_gpu_per_s (did you mean \"tokens_per_s_per_gpu\"?)"};
  EXPECT_EQ(unread(record), expected);
  const std::vector<std::string> assumed = scenario_of(run_of(record)).assumed;
  EXPECT_EQ(std::ranges::count(assumed, "not read: " + expected[4]), 1);
}

TEST(PublishedMembers, ThatWereMeasuredAndAreNoNumberAboveZeroAreListedWithWhy) {
  for (const json& value :
       {json("1.3 s"), json("48,000"), json("450 %"), json("abc"), json(-3), json(0), json(true)}) {
    json record = published_sample();
    record["measured"] = {{"mfu", value}, {"tflops_per_gpu", 100}};
    const std::vector<std::string> expected = {"measured.mfu (" + value.dump() +
                                               " is no number above 0)"};
    EXPECT_EQ(unread(record), expected);
    EXPECT_TRUE(run_of(record).measured.hardware_tflops_per_gpu) << "what else was measured stays";
  }
  for (const json& value :
       {json("not published"), json("n/a"), json("0.45"), json("45 %"), json(45), json()}) {
    json record = published_sample();
    record["measured"]["mfu"] = value;
    EXPECT_TRUE(unread(record).empty()) << value;
  }
}

TEST(PublishedMembers, ThatTellPeopleWhereARecordIsFromAreNotListed) {
  json record = published_sample();
  record["confidence"] = "exact", record["knob_confidence"] = {{"sp", "recalled"}};
  record["model"]["params"] = 1.3e9;
  record["measured"]["iteration_time_s_derived"] = 2;
  record["measured"]["anything_derived"] = 2;
  record["batch"]["grad_accum"] = nullptr, record["parallel"]["zeros"] = nullptr;
  EXPECT_TRUE(unread(record).empty());
}

}  // namespace plait::published_members_test
