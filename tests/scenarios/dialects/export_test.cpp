// What is written: names that the programs know, and files that do not change unseen.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json.h"
#include "scenarios/dialects/dialects.h"

namespace plait::export_test {

const std::string kRoot = PLAIT_SOURCE_DIR;

const std::vector<std::string> kScenarios = {
    "gpt3/gpt3-175b-64xa100",         "llama/llama-3.1-405b-16384xh100",
    "llama/llama-3.1-8b-8xh100-fsdp", "llama/llama-3.1-8b-16xh100-hybrid",
    "megatron/megatron-22b-8xa100",   "falcon/falcon-40b-384xa100",
    "systems/megatron-moe-qwen3-235b"};

Scenario scenario_at(const std::string& path) {
  return load_scenario(kRoot + "/scenarios/" + path + ".json");
}

/// Changes that reach the settings which no committed scenario has.
const std::vector<std::vector<Override>> kChanges = {
    {},
    {{"strategy.recompute", "full"}, {"workload.precision.matmul", "fp8"}},
    {{"workload.precision", R"({"matmul": "nvfp4", "plain_last": 4})"}},
    {{"workload.precision", R"({"matmul": "fp8", "narrow_weights": "gathered"})"}},
    {{"workload.precision", R"({"matmul": "fp8", "narrow_weights": "kept"})"}},
    {{"strategy.recompute.kind", "full"}, {"strategy.recompute.layers", "1"}},
    {{"strategy.recompute", "ops"}, {"strategy.data.overlap", "false"}},
    {{"strategy.recompute.kind", "full"}, {"strategy.recompute.every", "2"}},
    {{"workload.precision", R"({"weights": "bf16", "gradients": "bf16", "moments": "bf16"})"}},
    {{"model.qkv_bias", "true"}},
    {{"model.attention_window", "128"}, {"model.full_attention_every", "2"}},
};

std::vector<std::string> known_options(const DialectRow& row) {
  const std::string file =
      kRoot + "/tests/scenarios/dialects/options/" + std::string(row.name) + ".json";
  const nlohmann::json list = nlohmann::json::parse(read_text_file(file));
  EXPECT_FALSE(list.at("sources").empty()) << file;
  return list.at("options").get<std::vector<std::string>>();
}

TEST(Export, WritesOnlyOptionsThatTheProgramHas) {
  for (const DialectRow& row : kDialects) {
    if (!row.writes) continue;
    const std::vector<std::string> known = known_options(row);
    for (const std::string& path : kScenarios) {
      for (const auto& changes : kChanges) {
        const Scenario s = load_scenario(kRoot + "/scenarios/" + path + ".json", changes);
        for (const Setting& setting : settings_of(s, row.dialect, Launcher::kNone).settings) {
          if (setting.key.empty()) continue;  // a model's name
          const std::string name =
              setting.section.empty() ? setting.key : setting.section + "." + setting.key;
          EXPECT_EQ(std::ranges::count(known, name), 1) << row.name << ": " << name;
        }
      }
    }
  }
}

TEST(Export, StatesOfAServedHybridAreAnOptionThatVllmHas) {
  const DialectRow& row = *std::ranges::find(kDialects, Dialect::kVllm, &DialectRow::dialect);
  const std::vector<std::string> known = known_options(row);
  const Scenario s = scenario_at("nemotron/nemotron-h-8b-1xh100-vllm");
  const std::vector<Setting> settings = settings_of(s, Dialect::kVllm, Launcher::kNone).settings;
  EXPECT_TRUE(std::ranges::any_of(
      settings, [](const Setting& set) { return set.key == "--mamba-ssm-cache-dtype"; }));
  for (const Setting& set : settings) {
    if (set.key.empty()) continue;  // the model's name
    EXPECT_EQ(std::ranges::count(known, set.key), 1) << set.key;
  }
}

void compare_with_golden(const std::string& name, const std::string& now) {
  const std::string path = kRoot + "/tests/golden/export/" + name;
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; PLAIT_UPDATE_GOLDEN=1 writes it";
  std::ostringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(now, recorded.str()) << name;
}

std::string exported(const std::string& scenario, Dialect dialect,
                     Launcher launcher = Launcher::kNone) {
  return render(settings_of(scenario_at(scenario), dialect, launcher), launcher);
}

TEST(Export, GoldenFiles) {
  compare_with_golden("gpt3-175b.args", exported(kScenarios[0], Dialect::kMegatronCore));
  compare_with_golden("llama-3.1-405b.slurm.sh",
                      exported(kScenarios[1], Dialect::kMegatronCore, Launcher::kSlurm));
  compare_with_golden("megatron-22b.torchrun.sh",
                      exported(kScenarios[4], Dialect::kMegatronCore, Launcher::kTorchrun));
  compare_with_golden("llama-3.1-8b.deepspeed.json", exported(kScenarios[2], Dialect::kDeepSpeed));
  compare_with_golden("llama-3.1-8b.toml", exported(kScenarios[2], Dialect::kTorchtitan));
  compare_with_golden("llama-3.1-405b.torchtitan.sh",
                      exported(kScenarios[1], Dialect::kTorchtitan, Launcher::kTorchrun));
  compare_with_golden("llama-3.1-8b-hybrid.yaml", exported(kScenarios[3], Dialect::kAccelerate));
  compare_with_golden("falcon-40b.vllm.txt", exported(kScenarios[5], Dialect::kVllm));
  compare_with_golden("qwen3-235b.args", exported(kScenarios[6], Dialect::kMegatronCore));
}

// Of tp 4 ranks pairs split an expert: 8 ranks along ep by 2 along tp have different ones.
TEST(Export, MegatronCountsTheRanksOfExperts) {
  const Scenario s =
      load_scenario(kRoot + "/scenarios/" + kScenarios[6] + ".json",
                    {{"strategy.tp", "4"}, {"strategy.expert_tp", "2"}, {"strategy.ep", "8"}});
  const auto argument =
      [settings = settings_of(s, Dialect::kMegatronCore, Launcher::kNone)](const char* name) {
        return std::ranges::find(settings.settings, name, &Setting::key)->value;
      };
  EXPECT_EQ(argument("--tensor-model-parallel-size"), "4");
  EXPECT_EQ(argument("--expert-tensor-parallel-size"), "2");
  EXPECT_EQ(argument("--expert-model-parallel-size"), "16");
}

TEST(Export, GoldenFilesOfWeightsThatAreGatheredIn8Bits) {
  const auto narrow = [](const std::string& path, Dialect dialect, Override change) {
    const Scenario s = load_scenario(kRoot + "/scenarios/" + path + ".json",
                                     {{"workload.precision.matmul", "fp8"},
                                      {"workload.precision.narrow_weights", "gathered"},
                                      std::move(change)});
    return render(settings_of(s, dialect, Launcher::kNone), Launcher::kNone);
  };
  compare_with_golden("llama-3.1-405b-fp8.args",
                      narrow(kScenarios[1], Dialect::kMegatronCore, {"strategy.zero_stage", "1"}));
  compare_with_golden(
      "llama-3.1-8b-fp8.toml",
      narrow(kScenarios[2], Dialect::kTorchtitan, {"strategy.fsdp_options.early_scales", "true"}));
}

TEST(Export, ALauncherStartsOnlyWhatItCan) {
  try {
    exported(kScenarios[2], Dialect::kDeepSpeed, Launcher::kTorchrun);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D007");
  }
}

}  // namespace plait::export_test
