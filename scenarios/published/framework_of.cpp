#include <fmt/format.h>

#include <cctype>
#include <regex>
#include <string_view>

#include "core/spelling.h"
#include "scenarios/framework.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

/// The first rule whose words a record has, in letters of either case, names its profile.
struct Rule {
  std::string_view words, profile;
};
/// Stands for Megatron-LM's profile of the year that the source names.
constexpr std::string_view kMegatronOfItsYear = "megatron, of its year";
/// DeepSpeed's Megatron-LM had FlashAttention from 2023 on.
constexpr std::string_view kMegatronDeepSpeedOfItsYear = "megatron-deepspeed, of its year";
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
    {"SC21", "megatron-lm-2021"},
    {"cases_jan2021", "megatron-lm-2021"},
    {"BLOOM", "megatron-deepspeed"},
    {"BigScience", "megatron-deepspeed"},
    {"vTrain", "vtrain"},
    {"megatron-deepspeed", kMegatronDeepSpeedOfItsYear},
    {"ZeRO-3", "deepspeed-zero3"},
    {"data parallel (DeepSpeed", "deepspeed-zero3"},
    {"Aleph-Alpha", "scaling"},
    {"Zero Bubble", "megatron-lm-2023"},
    {"tables.tex", "megatron-lm-2020"},
    {"Megatron-LM e156d2fe", "megatron-lm-2021-local"},
    {"golden", "megatron-lm"},
    {"NeMo 24.03", "nemo-launcher"},  // until NeMo 2.0, of 24.09
    {"NeMo 24.05", "nemo-launcher"},
    {"NeMo 24.07", "nemo-launcher"},
    {"release 24.03", "nemo-launcher"},
    {"release 24.05", "nemo-launcher"},
    {"release 24.07", "nemo-launcher"},
    {"Megatron-LM examples/llama", "megatron-llama"},
    {"AutoModel", "torchtitan-2025"},  // NeMo's on PyTorch alone: FSDP2 and DTensor
    {"NeMo", "nemo"},
    {"DGX Cloud", "nemo"},
    {"Megatron-Bridge", "nemo"},
    {"Megatron", kMegatronOfItsYear},
    {"MegatronLM", kMegatronOfItsYear},
};
/// Sources that ran all of their rows with one software, whatever they are called or compared with.
/// The paper's FSDP has tensor and sequence parallelism beside it, which DeepSpeed's has not; DGX
/// Cloud's table of November 2024 is of NeMo's container 24.05 (nemo_megatron/launch.sh).
constexpr Rule kSources[] = {{"MoE Parallel Folding", "megatron-core"},
                             {"nemo_megatron/README_175b.md @v24.11.1", "nemo-launcher"}};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// Whether a text says that it is of `words`, not as a part of a longer word: "NeMo" is no part of
/// "Nemotron", and "faster than Megatron-LM" is another software. Both are in small letters.
bool has_word(const std::string& text, std::string_view words) {
  for (std::size_t at = text.find(words); at != std::string_view::npos;
       at = text.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    const bool begins = at == 0 || !is_letter(words.front()) || !is_letter(text[at - 1]);
    const bool ends = end == text.size() || !is_letter(words.back()) || !is_letter(text[end]);
    if (begins && ends && !is_denied(text, at, end)) return true;
  }
  return false;
}

/// Megatron-LM as it was in the year of a paper: attention was not fused by default until 2024.
std::string megatron_of(int year) {
  if (year == 0) return "megatron-core";
  if (year <= 2020) return "megatron-lm-2020";
  if (year == 2021) return "megatron-lm-2021";
  return year <= 2023 ? "megatron-lm-2023" : "megatron-core";
}

std::string profile_of_rule(const Rule& rule, const PublishedRun& run) {
  const int year = year_of(run);
  if (rule.profile == kMegatronOfItsYear) return megatron_of(year);
  if (rule.profile == kMegatronDeepSpeedOfItsYear)
    return year != 0 && year <= 2022 ? "megatron-deepspeed" : "megatron-deepspeed-flash";
  return std::string(rule.profile);
}

/// By its library, its Trainer or Accelerate.
bool runs_hugging_faces(const PublishedRun& run) {
  const std::string words = lower_case(run.framework + " " + run.source);
  return mentions(words, "transformers") || mentions(words, "hugging face") ||
         mentions(words, "huggingface") || mentions(words, "accelerate") || has_word(words, "trl");
}

/// Where no rule names the software: DeepSpeed, Hugging Face's and PyTorch's FSDP by their names,
/// else Megatron-Core for a layout that it, of the software that most people have, is known for.
std::string by_layout(const PublishedRun& run) {
  const PublishedLayout& p = run.layout;
  const bool split = p.tp > 1 || p.pp > 1 || p.cp > 1 || p.ep > 1;
  const std::string words =
      lower_case(fmt::format("{}; {}; {}; {}", run.framework, run.source, p.fsdp, run.notes));
  if (has_word(words, "deepspeed")) return split ? "megatron-deepspeed-flash" : "deepspeed-zero3";
  if (runs_hugging_faces(run) && p.pp == 1) return "transformers";
  if (!split) return "pytorch";
  return mentions(words, "fsdp") ? "torchtitan" : "megatron-core";
}

/// "profile: pytorch, by the layout: no profile is called ..."
ChosenProfile chosen_by_layout(const PublishedRun& run) {
  const std::string name = by_layout(run);
  if (run.framework.empty()) return {name, fmt::format("profile: {}, by the layout", name)};
  return {name, fmt::format("profile: {}, by the layout, for \"{}\", which has none", name,
                            run.framework)};
}

/// `profile: nemo, by the source ("NeMo")`
std::string by_words(const std::string& name, const Rule& rule, const char* place) {
  return fmt::format("profile: {}, by the {} (\"{}\")", name, place, rule.words);
}

}  // namespace

int year_of(const PublishedRun& run) {
  static const std::regex kYear(R"(\b(20[12]\d)\b)");
  std::smatch found;
  for (const std::string* words : {&run.framework, &run.source}) {
    if (std::regex_search(*words, found, kYear)) return std::stoi(found[1].str());
  }
  return 0;
}

ChosenProfile profile_of(const PublishedRun& run) {
  const std::string named = lower_case(run.framework);
  if (named == "none") return {"", "profile: none, as the record says"};
  for (const Framework& f : frameworks()) {
    if (f.name == named) return {f.name, fmt::format("profile: {}", f.name)};
  }
  for (const Rule& rule : kSources) {
    if (!mentions(run.source, rule.words)) continue;
    return {std::string(rule.profile), by_words(std::string(rule.profile), rule, "source")};
  }
  struct Place {
    const std::string& words;
    const char* called;
  };
  for (const Place& place : {Place{run.framework, "framework"}, Place{run.source, "source"},
                             Place{run.layout.fsdp, "sharding"}, Place{run.notes, "notes"}}) {
    const std::string words = lower_case(place.words);
    for (const Rule& rule : kRules) {
      if (!has_word(words, lower_case(rule.words))) continue;
      const std::string name = profile_of_rule(rule, run);
      return {name, by_words(name, rule, place.called)};
    }
  }
  return chosen_by_layout(run);
}

std::string framework_of(const PublishedRun& run) { return profile_of(run).name; }

}  // namespace plait
