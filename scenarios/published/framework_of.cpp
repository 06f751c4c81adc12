#include <regex>
#include <string_view>

#include "core/spelling.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

/// The first rule whose words a record has names its profile.
struct Rule {
  std::string_view words, profile;
};
/// Stands for Megatron-LM's profile of the year that the source names.
constexpr std::string_view kMegatronOfItsYear = "megatron, of its year";
constexpr Rule kRules[] = {
    {"llm-foundry", "llm-foundry"},
    {"2025-06_torchtitan", "torchtitan-2025"},
    {"torchtitan benchmarks/llama3-8b_h200_202506", "torchtitan-2025"},
    {"torchtitan", "torchtitan"},
    {"nanotron", "nanotron"},
    {"llm.c", "llm.c"},
    {"when-to-upgrade-gpus", "deepspeed-liger"},
    {"ml-engineering", "deepspeed-zero3"},
    {"Paxml", "maxtext"},
    {"MaxText", "maxtext"},
    {"LiBai", "oneflow"},
    {"DLPerf", "oneflow"},
    {"OneFlow", "oneflow"},
    {"-paddle", "paddle"},
    {"PaddleNLP", "paddle"},
    {"-flagscale", "flagscale"},  // FlagPerf's cases are called <model>-<framework>
    {"-megatron/", "megatron-core"},
    {"BLOOM", "megatron-deepspeed"},
    {"BigScience", "megatron-deepspeed"},
    {"vTrain", "vtrain"},
    {"megatron-deepspeed", "megatron-deepspeed-flash"},
    {"ZeRO-3", "deepspeed-zero3"},
    {"data parallel (DeepSpeed", "deepspeed-zero3"},
    {"Aleph-Alpha", "scaling"},
    {"Zero Bubble", "megatron-lm-2023"},
    {"SC21", "megatron-lm-2021"},
    {"cases_jan2021", "megatron-lm-2021"},
    {"tables.tex", "megatron-lm-2020"},
    {"Megatron-LM e156d2fe", "megatron-lm-2021"},
    {"golden", "megatron-lm"},
    {"NeMo 24.03", "nemo-launcher"},  // until NeMo 2.0, of 24.09
    {"NeMo 24.05", "nemo-launcher"},
    {"NeMo 24.07", "nemo-launcher"},
    {"release 24.03", "nemo-launcher"},
    {"release 24.05", "nemo-launcher"},
    {"release 24.07", "nemo-launcher"},
    {"Megatron-LM examples/llama", "megatron-llama"},
    {"NeMo", "nemo"},
    {"DGX Cloud", "nemo"},
    {"Megatron", kMegatronOfItsYear},
};
/// Sources that ran all of their rows with one software, whatever they are called or compared with.
/// The paper's FSDP has tensor and sequence parallelism beside it, which DeepSpeed's has not; DGX
/// Cloud's table of November 2024 is of NeMo's container 24.05 (nemo_megatron/launch.sh).
constexpr Rule kSources[] = {{"MoE Parallel Folding", "megatron-core"},
                             {"nemo_megatron/README_175b.md @v24.11.1", "nemo-launcher"}};

/// Megatron-LM as it was in the year of a paper: attention was not fused by default until 2024.
std::string megatron_of(const std::string& source) {
  static const std::regex kYear(R"(\b(20[12]\d)\b)");
  std::smatch found;
  const bool dated = std::regex_search(source, found, kYear);
  const int year = dated ? std::stoi(found[1].str()) : 2024;
  if (year <= 2020) return "megatron-lm-2020";
  if (year == 2021) return "megatron-lm-2021";
  return year <= 2023 ? "megatron-lm-2023" : "megatron-core";
}

/// Where no rule names the software: DeepSpeed and PyTorch's FSDP by their names, else
/// Megatron-Core for a layout that it, of the software that most people have, is known for.
std::string by_layout(const PublishedRun& run) {
  const PublishedLayout& p = run.layout;
  const bool split = p.tp > 1 || p.pp > 1 || p.cp > 1 || p.ep > 1;
  const std::string words = lower_case(run.framework + run.source + p.fsdp + run.notes);
  if (mentions(words, "deepspeed")) return split ? "megatron-deepspeed-flash" : "deepspeed-zero3";
  if (!split) return "pytorch";
  return mentions(words, "fsdp") ? "torchtitan" : "megatron-core";
}

}  // namespace

std::string framework_of(const PublishedRun& run) {
  for (const Rule& rule : kSources) {
    if (mentions(run.source, rule.words)) return std::string(rule.profile);
  }
  for (const std::string& words : {run.framework, run.source, run.layout.fsdp, run.notes}) {
    for (const Rule& rule : kRules) {
      if (!mentions(words, rule.words)) continue;
      return rule.profile == kMegatronOfItsYear ? megatron_of(run.source)
                                                : std::string(rule.profile);
    }
  }
  return by_layout(run);
}

}  // namespace plait
