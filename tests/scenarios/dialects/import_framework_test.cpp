// Which framework an imported file is of: parts of a scenario get its profile, and a whole one that
// names none is said to have other kernels.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

constexpr const char* kMegatronRun = "--bf16 --micro-batch-size 1 --global-batch-size 8";
constexpr const char* kFsdp = "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n";
constexpr const char* kZero3 =
    R"({"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})";
constexpr const char* kZero2 = R"({"train_batch_size": 8, "zero_optimization": {"stage": 2}})";

struct Got {
  std::string framework, warned;  // "": none
};
Got over(const std::string& base, Dialect dialect, const std::string& text) {
  const Imported settings = read_settings(text, "run.sh", dialect);
  Warnings warnings;
  const std::string json = scenario_json(settings, "run.sh", {base, "base.json"}, "", &warnings);
  Got out{nlohmann::json::parse(json).value("framework", ""), ""};
  for (const Warning& w : warnings) out.warned += printed(w) + "\n";
  return out;
}
/// kBase and another member.
std::string base_with(const std::string& member) {
  const std::string base = kBase;
  return base.substr(0, base.size() - 1) + ", " + member + "}";
}
constexpr const char* kParts = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})";

TEST(ImportFramework, PartsOfAScenarioGetThatOfTheFile) {
  const std::string megatron = std::string(kMegatronRun) + " --seq-length 64";
  EXPECT_EQ(over(kParts, Dialect::kMegatronCore, megatron).framework, "megatron-core");
  const std::string named =
      R"({"model": "llama-3.1-8b", "cluster": "hgx-h100", "framework": "nemo"})";
  EXPECT_EQ(over(named, Dialect::kMegatronCore, megatron).framework, "nemo");
  EXPECT_EQ(over(kParts, Dialect::kMegatronCore, megatron).warned, "");
}

TEST(ImportFramework, AWholeScenarioThatNamesNoneKeepsItsKernelsAndIsWarned) {
  for (const auto& [dialect, text, name] :
       {std::tuple(Dialect::kMegatronCore, kMegatronRun, "megatron-core"),
        std::tuple(Dialect::kAccelerate, kFsdp, "transformers"),
        std::tuple(Dialect::kDeepSpeed, kZero3, "deepspeed-zero3")}) {
    const Got got = over(kBase, dialect, text);
    EXPECT_EQ(got.framework, "");
    EXPECT_EQ(got.warned,
              std::string("W013: each op is one kernel, as the base names no framework; what this "
                          "file starts runs the kernels of ") +
                  name + ": set framework to \"" + name + "\" in the base\n");
    EXPECT_EQ(over(base_with(R"("kernels": {"norm": "eager"})"), dialect, text).warned, "");
    EXPECT_EQ(over(base_with(R"("framework": "pytorch")"), dialect, text).warned, "");
  }
  EXPECT_EQ(over(kBase, Dialect::kDeepSpeed, kZero2).warned, "") << "no profile is of stage 2";
}

TEST(ImportFramework, AccelerateIsTransformersAndStage3DeepSpeeds) {
  const auto framework = [](Dialect dialect, const std::string& text) {
    return read_settings(text, "run.sh", dialect).framework;
  };
  EXPECT_EQ(framework(Dialect::kAccelerate, kFsdp), "transformers");
  EXPECT_EQ(framework(Dialect::kDeepSpeed, kZero3), "deepspeed-zero3");
  EXPECT_EQ(framework(Dialect::kDeepSpeed, kZero2), "");
  const std::string by_accelerate =
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: ";
  EXPECT_EQ(framework(Dialect::kAccelerate, by_accelerate + "3\n"), "deepspeed-zero3");
  EXPECT_EQ(framework(Dialect::kAccelerate, by_accelerate + "2\n"), "transformers");
}

// The profile's default is true.
TEST(ImportFramework, ZeRO3OfWeightsInFp32KeepsNoOtherShard) {
  const std::string base = base_with(R"("framework": "deepspeed-zero3")");
  const auto keeps = [&](const char* text) {
    return imported(Dialect::kDeepSpeed, text, base).strategy.keep_weight_shard;
  };
  EXPECT_TRUE(keeps(kZero3));
  EXPECT_FALSE(keeps(R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}})"));
}

}  // namespace plait::import_test
