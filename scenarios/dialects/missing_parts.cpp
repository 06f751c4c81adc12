#include "scenarios/dialects/missing_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "scenarios/dialects/hub_names.h"

namespace plait {
namespace {

/// A file for --base that says what is missing, each part once.
std::string example_of(const std::vector<std::string>& missing) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kExamples = {{
      {"model", R"("model": {"hf_config": "config.json"})"},
      {"workload.sequence_length", R"("workload": {"sequence_length": 4096, "global_batch": 64})"},
      {"workload.global_batch", R"("workload": {"sequence_length": 4096, "global_batch": 64})"},
      {"cluster", R"("cluster": {"preset": "hgx-h100", "nodes": 8})"},
  }};
  std::vector<std::string_view> parts;
  const auto of_model = [](const std::string& m) { return m.starts_with("model"); };
  // A file that describes the model but for its vocabulary, which is the tokenizer's.
  const bool vocab_alone = std::ranges::count_if(missing, of_model) == 1 &&
                           std::ranges::count(missing, "model.vocab") == 1;
  for (const auto& [path, said] : kExamples) {
    const bool is_vocab = vocab_alone && path == "model";
    const std::string_view example = is_vocab ? R"("model": {"vocab": 50304})" : said;
    const auto is_it = [field = path](const std::string& m) { return m.starts_with(field); };
    const bool is_missing = std::ranges::any_of(missing, is_it);
    if (is_missing && std::ranges::count(parts, example) == 0) parts.push_back(example);
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string problem_of(std::vector<std::string> missing, const std::string& unknown_model) {
  if (unknown_model.empty()) {
    return fmt::format("the file does not say {}", fmt::join(missing, ", "));
  }
  std::erase_if(missing, [](const std::string& m) { return m.starts_with("model."); });
  return fmt::format("the model {} is no preset{}{}", unknown_model,
                     missing.empty() ? "" : ", and the file does not say ",
                     fmt::join(missing, ", "));
}

/// What they are is for the user to judge: they are other models.
std::string presets_near(const std::string& unknown_model) {
  if (unknown_model.empty()) return "";
  const std::vector<std::string> near = presets_like(unknown_model);
  if (near.empty()) return " (config.json is the model's own)";
  return fmt::format(
      " (config.json is the model's own; presets of a like name, which are other models: {})",
      fmt::join(near, ", "));
}

}  // namespace

void refuse_missing(const std::vector<std::string>& missing, const std::string& unknown_model,
                    const std::string& file) {
  const std::string model = missing.front().starts_with("model") ? unknown_model : "";
  throw InputError({"D005",
                    problem_of(missing, model),
                    {file, 0, 0, ""},
                    "all that a scenario needs",
                    "give a scenario that says the rest with --base, or its parts alone: " +
                        example_of(missing) + presets_near(model)});
}

namespace {

/// Besides looking up the embedding, which a device does where no processor is described. The
/// output matrix counts as a layer.
bool works_on_processor(const LayerRule& rule, std::int64_t layers) {
  return rule.leaves_devices() &&
         (rule.dealing != Dealing::kGpuLayers || rule.gpu_layers <= layers || rule.cache_on_host ||
          rule.host_experts != 0);
}

}  // namespace

void warn_of_processor(const Scenario& scenario, Warnings& warnings) {
  const bool works =
      scenario.serving && works_on_processor(scenario.serving->layers, scenario.model.layers);
  if (!works || !scenario.processor.name.empty()) return;
  warnings.push_back(
      {"W008",
       "what no device has room for the processor computes, and the base does not say which it is: "
       "to be served, the scenario wants cluster.processor, such as \"cpu-host\""});
}

}  // namespace plait
