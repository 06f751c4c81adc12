// In which types published runs keep their state, by the words of their records.
#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/published/scenario_of.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_state_test {

using nlohmann::json;

json precision_with(const char* member, const std::string& words) {
  json record = published_sample();
  record["precision"] = "bf16";
  record[member] = words;
  return json::parse(scenario_of(run_of(record)).json)["workload"]["precision"];
}
json noted(const std::string& words) { return precision_with("notes", words); }

TEST(PublishedState, AllInBf16) {
  const json all = json::parse(
      R"({"weights": "bf16", "master": "bf16", "moments": "bf16", "gradients": "bf16"})");
  for (const char* words : {"pure bf16", "packed; all in bf16; eager", "full bf16", "bf16-true",
                            "weights, gradients and AdamW state all in bf16", "pure_bf16"}) {
    EXPECT_EQ(noted(words), all) << words;
  }
  EXPECT_EQ(precision_with("precision", "pure bf16"), all);
  EXPECT_EQ(noted("pure fp16"), json::parse(R"({"weights": "bf16"})")) << "not of these weights";
}

TEST(PublishedState, WithoutAMasterMomentsAreOfTheWeightsType) {
  const json none = json::parse(R"({"weights": "bf16", "master": "bf16", "moments": "bf16"})");
  EXPECT_EQ(noted("no master weights"), none);
  EXPECT_EQ(noted("without an fp32 master copy"), none);
  EXPECT_EQ(noted("no fp32 master, fp32 moments")["moments"], "fp32");
}

TEST(PublishedState, PartByPart) {
  EXPECT_EQ(precision_with("optimizer", "Adam with bf16 moments (precision-aware), fp32 master"),
            json::parse(R"({"weights": "bf16", "master": "fp32", "moments": "bf16"})"));
  EXPECT_EQ(noted("bf16 optimizer states")["moments"], "bf16");
  EXPECT_EQ(noted("optimizer states kept in bf16")["moments"], "bf16");
  EXPECT_EQ(noted("master weights in bf16")["master"], "bf16");
  EXPECT_EQ(noted("bf16 gradient accumulation")["gradients"], "bf16");
  EXPECT_EQ(noted("grad reduce in bf16")["gradients"], "bf16");
  EXPECT_EQ(noted("grad_reduce_in_fp32=True")["gradients"], "fp32");
  EXPECT_FALSE(noted("grad_reduce_in_fp32=False").contains("gradients"));
  EXPECT_EQ(precision_with("precision", "bf16 with fp32 gradients")["gradients"], "fp32");
}

TEST(PublishedState, WordsOfOtherThingsSayNothing) {
  const json plain = json::parse(R"({"weights": "bf16"})");
  for (const char* words : {"bf16 compute with fp32 params/optimizer", "fp32 residual",
                            "FSDP mixed precision mode PURE (PURE = bf16 params+reduce)"}) {
    EXPECT_EQ(noted(words), plain) << words;
  }
  EXPECT_EQ(noted("FSDP mixed precision mode DEFAULT (PURE = bf16 params+reduce)")["reduction"],
            "fp32");
}

TEST(PublishedState, ByMegatronsArguments) {
  json record = published_sample();
  record["precision"] = "bf16";
  record["extra_args"] = {{"exp-avg-dtype", "bf16"}, {"main-grads-dtype", "fp32"}};
  EXPECT_EQ(json::parse(scenario_of(run_of(record)).json)["workload"]["precision"],
            json::parse(R"({"weights": "bf16", "moments": "bf16", "gradients": "fp32"})"));
}

}  // namespace plait::published_state_test
