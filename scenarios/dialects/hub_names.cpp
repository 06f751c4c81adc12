#include "scenarios/dialects/hub_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/spelling.h"
#include "model/presets.h"
#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

struct Row {
  std::string_view preset, hub;
  TitanModel titan = {};
};
// torchtitan: __init__.py of torchtitan/models/llama3, llama4, deepseek_v3 and qwen3.
constexpr std::array kRows = {
    Row{"gpt2", "openai-community/gpt2"},
    Row{"gpt2-medium", "openai-community/gpt2-medium"},
    Row{"gpt2-large", "openai-community/gpt2-large"},
    Row{"gpt2-xl", "openai-community/gpt2-xl"},
    Row{"bert-base", "google-bert/bert-base-uncased"},
    Row{"bert-large", "google-bert/bert-large-uncased"},
    Row{"roberta-base", "FacebookAI/roberta-base"},
    Row{"roberta-large", "FacebookAI/roberta-large"},
    Row{"llama-2-7b", "meta-llama/Llama-2-7b-hf"},
    Row{"llama-2-13b", "meta-llama/Llama-2-13b-hf"},
    Row{"llama-2-70b", "meta-llama/Llama-2-70b-hf"},
    Row{"llama-3.1-8b", "meta-llama/Llama-3.1-8B", {"llama3", "8B"}},
    Row{"llama-3.1-70b", "meta-llama/Llama-3.1-70B", {"llama3", "70B"}},
    Row{"llama-3.1-405b", "meta-llama/Llama-3.1-405B", {"llama3", "405B"}},
    Row{"llama-3.2-1b", "meta-llama/Llama-3.2-1B"},
    Row{"llama-3.2-3b", "meta-llama/Llama-3.2-3B"},
    Row{"llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"},
    Row{"codellama-34b", "codellama/CodeLlama-34b-hf"},
    Row{"tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
    Row{"mistral-7b", "mistralai/Mistral-7B-Instruct-v0.2"},
    Row{"mistral-7b-v0.3", "mistralai/Mistral-7B-v0.3"},
    Row{"mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1"},
    Row{"mistral-nemo-12b", "mistralai/Mistral-Nemo-Base-2407"},
    Row{"mistral-small-24b", "mistralai/Mistral-Small-24B-Base-2501"},
    Row{"mistral-large-123b", "mistralai/Mistral-Large-Instruct-2407"},
    Row{"qwen-2.5-0.5b", "Qwen/Qwen2.5-0.5B"},
    Row{"qwen-2.5-1.5b", "Qwen/Qwen2.5-1.5B"},
    Row{"qwen-2.5-3b", "Qwen/Qwen2.5-3B"},
    Row{"qwen-2.5-7b", "Qwen/Qwen2.5-7B"},
    Row{"qwen-2.5-14b", "Qwen/Qwen2.5-14B"},
    Row{"qwen-2.5-32b", "Qwen/Qwen2.5-32B"},
    Row{"qwen-2.5-72b", "Qwen/Qwen2.5-72B"},
    Row{"qwen3-0.6b", "Qwen/Qwen3-0.6B", {"qwen3", "0.6B"}},
    Row{"qwen3-1.7b", "Qwen/Qwen3-1.7B", {"qwen3", "1.7B"}},
    Row{"qwen3-4b", "Qwen/Qwen3-4B", {"qwen3", "4B"}},
    Row{"qwen3-8b", "Qwen/Qwen3-8B", {"qwen3", "8B"}},
    Row{"qwen3-14b", "Qwen/Qwen3-14B", {"qwen3", "14B"}},
    Row{"qwen3-32b", "Qwen/Qwen3-32B", {"qwen3", "32B"}},
    Row{"yi-34b", "01-ai/Yi-34B"},
    Row{"phi-4", "microsoft/phi-4"},
    Row{"gemma-2b", "google/gemma-2b"},
    Row{"gemma-7b", "google/gemma-7b"},
    Row{"gemma-2-2b", "google/gemma-2-2b"},
    Row{"gemma-2-9b", "google/gemma-2-9b"},
    Row{"gemma-2-27b", "google/gemma-2-27b"},
    Row{"gemma-3-1b", "google/gemma-3-1b-pt"},
    Row{"gemma-3-4b", "google/gemma-3-4b-pt"},
    Row{"gemma-3-12b", "google/gemma-3-12b-pt"},
    Row{"gemma-3-27b", "google/gemma-3-27b-pt"},
    Row{"falcon-40b", "tiiuae/falcon-40b"},
    Row{"opt-1.3b", "facebook/opt-1.3b"},
    Row{"opt-6.7b", "facebook/opt-6.7b"},
    Row{"opt-13b", "facebook/opt-13b"},
    Row{"opt-30b", "facebook/opt-30b"},
    Row{"bloom-176b", "bigscience/bloom"},
    Row{"mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"},
    Row{"mixtral-8x22b", "mistralai/Mixtral-8x22B-v0.1"},
    Row{"llama-4-scout", "meta-llama/Llama-4-Scout-17B-16E", {"llama4", "17bx16e"}},
    Row{"llama-4-maverick", "meta-llama/Llama-4-Maverick-17B-128E", {"llama4", "17bx128e"}},
    Row{"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", {"qwen3", "30B-A3B"}},
    Row{"qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", {"qwen3", "235B-A22B"}},
    Row{"qwen3-coder-480b-a35b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"},
    Row{"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"},
    Row{"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B"},
    Row{"gpt-oss-20b", "openai/gpt-oss-20b"},
    Row{"gpt-oss-120b", "openai/gpt-oss-120b"},
    Row{"deepseek-v2-lite", "deepseek-ai/DeepSeek-V2-Lite", {"deepseek_v3", "16B"}},
    Row{"deepseek-v2", "deepseek-ai/DeepSeek-V2", {"deepseek_v3", "236B"}},
    Row{"deepseek-v3", "deepseek-ai/DeepSeek-V3"},
    Row{"deepseek-r1", "deepseek-ai/DeepSeek-R1"},
    Row{"kimi-k2", "moonshotai/Kimi-K2-Instruct"},
    Row{"glm-4.5", "zai-org/GLM-4.5"},
    Row{"glm-4.5-air", "zai-org/GLM-4.5-Air"},
    Row{"nemotron-h-8b", "nvidia/Nemotron-H-8B-Base-8K"},
    Row{"nemotron-nano-9b-v2", "nvidia/NVIDIA-Nemotron-Nano-9B-v2"},
    Row{"nemotron-3-nano-30b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B"},
};
/// Words that releases of one shape differ by, besides dates ("2507", "0528").
constexpr std::string_view kOfReleases[] = {
    "instruct", "base", "chat",     "it",      "pt", "hf", "meta",    "thinking",
    "qat",      "gguf", "terminus", "preview", "ud", "i1", "imatrix", "abliterated"};

/// Models whose shape is a preset's though they are named otherwise.
struct SameShape {
  std::string_view name, preset;
};
// DeepSeek-AI 2025 (arXiv 2501.12948), section 2.4 and the card of DeepSeek-R1, which says what was
// distilled into; cards of deepseek-ai/DeepSeek-V3.1 and DeepSeek-R1-0528-Qwen3-8B; Hui et al. 2024
// (arXiv 2409.12186), Table 1 (Qwen2.5-Coder); Yang et al. 2024 (arXiv 2409.12122), section 2
// (Qwen2.5-Math); config.json of Qwen/Qwen3-Coder-30B-A3B-Instruct; the card of Qwen/QwQ-32B. Not
// among them: DeepSeek-R1-Distill-Qwen-1.5B, whose output matrix is its own.
constexpr SameShape kSameShapes[] = {
    {"deepseek-r1-distill-llama-8b", "llama-3.1-8b"},
    {"deepseek-r1-distill-llama-70b", "llama-3.3-70b"},
    {"deepseek-r1-distill-qwen-7b", "qwen-2.5-7b"},
    {"deepseek-r1-distill-qwen-14b", "qwen-2.5-14b"},
    {"deepseek-r1-distill-qwen-32b", "qwen-2.5-32b"},
    {"deepseek-r1-0528-qwen3-8b", "qwen3-8b"},
    {"deepseek-v3.1", "deepseek-v3"},
    {"qwen2.5-coder-0.5b", "qwen-2.5-0.5b"},
    {"qwen2.5-coder-1.5b", "qwen-2.5-1.5b"},
    {"qwen2.5-coder-3b", "qwen-2.5-3b"},
    {"qwen2.5-coder-7b", "qwen-2.5-7b"},
    {"qwen2.5-coder-14b", "qwen-2.5-14b"},
    {"qwen2.5-coder-32b", "qwen-2.5-32b"},
    {"qwen2.5-math-7b", "qwen-2.5-7b"},
    {"qwen2.5-math-72b", "qwen-2.5-72b"},
    {"qwq-32b", "qwen-2.5-32b"},
    {"qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
};

/// Releases with more or fewer positions than their preset: a word of their names, and how the
/// preset's begins.
struct Positions {
  std::string_view word, preset;
  std::int64_t positions;
};
// max_position_embeddings of config.json: Qwen's releases of July 2025 and Qwen3-Coder; Qwen2.5's
// instructed ones, which reach further by YaRN, to be asked for; Kimi-K2-Instruct-0905;
// DeepSeek-R1-0528-Qwen3-8B; Qwen2.5-Math; the instructed ones of Llama 4, for Maverick as in the
// metadata of a conversion to GGUF (ollama.com/aravhawk/llama4:maverick-q4_K_M, context_length).
constexpr Positions kPositions[] = {
    {"2507", "qwen3-", 262144},
    {"coder", "qwen3-", 262144},
    {"0528", "qwen3-", 131072},
    {"math", "qwen-2.5-", 4096},
    {"instruct", "qwen-2.5-", 32768},
    {"coder", "qwen-2.5-", 32768},
    {"0905", "kimi-k2", 262144},
    {"instruct", "llama-4-scout", 10485760},
    {"instruct", "llama-4-maverick", 1048576},
};

struct Modules {
  std::string_view preset;
  std::int64_t layers;
};
// num_nextn_predict_layers of config.json: deepseek-ai/DeepSeek-V3 and -R1, zai-org/GLM-4.5 and
// -Air.
constexpr Modules kModules[] = {
    {"deepseek-v3", 1}, {"deepseek-r1", 1}, {"glm-4.5", 1}, {"glm-4.5-air", 1}};

const Row* row_of(const Model& model) {
  const auto* row = std::ranges::find(kRows, model.name, &Row::preset);
  if (row == kRows.end()) return nullptr;
  const bool unchanged =
      model_table().write(model) == model_table().write(*find_preset(row->preset));
  return unchanged ? row : nullptr;
}

bool is_date(std::string_view word) {
  return word.size() == 4 &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The name without the words of a release and of a format, in one: "mixtral8x7bv0.1" of
/// Mixtral-8x7B-Instruct-v0.1-AWQ.
std::string shape_of(std::string_view name) {
  std::string out;
  for (const std::string& word : words_of_model(name)) {
    const bool of_release = std::ranges::find(kOfReleases, word) != std::end(kOfReleases);
    if (!of_release && !is_date(word)) out += word;
  }
  return out;
}

std::string preset_of_shape(std::string_view shape) {
  for (const SameShape& same : kSameShapes) {
    if (shape_of(same.name) == shape) return std::string(same.preset);
  }
  for (const Row& row : kRows) {
    if (shape_of(row.hub) == shape) return std::string(row.preset);
  }
  for (const Preset& preset : presets()) {
    if (shape_of(preset.model.name) == shape) return preset.model.name;
  }
  return "";
}

}  // namespace

std::int64_t released_modules(std::string_view preset) {
  const auto* found = std::ranges::find(kModules, preset, &Modules::preset);
  return found == std::end(kModules) ? 0 : found->layers;
}

std::string_view hub_name_of(const Model& model) {
  Model without = model;
  if (model.mtp_layers == released_modules(model.name)) without.mtp_layers = 0;
  const Row* row = row_of(without);
  return row == nullptr ? std::string_view() : row->hub;
}

std::string preset_of_hub_name(std::string_view name) {
  while (name.ends_with('/')) name.remove_suffix(1);
  const std::string_view last = name.substr(name.rfind('/') + 1);
  std::string preset = preset_of_shape(shape_of(last));
  // "meta-llama_Llama-3.3-70B-Instruct": a file's name has the publisher in front.
  const std::size_t joint = last.find('_');
  if (!preset.empty() || joint == std::string_view::npos) return preset;
  return preset_of_shape(shape_of(last.substr(joint + 1)));
}

std::int64_t positions_of_hub_name(std::string_view name) {
  const std::string preset = preset_of_hub_name(name);
  const std::vector<std::string> words = words_of_name(name);
  for (const Positions& p : kPositions) {
    const bool said = std::ranges::any_of(
        words, [&](const std::string& word) { return word.starts_with(p.word); });
    if (said && preset.starts_with(p.preset)) {
      return p.positions == find_preset(preset)->max_positions ? 0 : p.positions;
    }
  }
  return 0;
}

std::vector<std::string> presets_like(std::string_view name) {
  const std::string shape = shape_of(name);
  const auto family = [](const std::string& of) {
    const auto end = std::ranges::find_if(of, [](unsigned char c) { return std::isdigit(c) != 0; });
    return std::string(of.begin(), end);
  };
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const Preset& preset : presets()) {
    const std::string other = shape_of(preset.model.name);
    const bool same_family = !family(other).empty() && family(other) == family(shape);
    const bool part = shape.find(other) != std::string::npos;  // Hermes-3-Llama-3.1-8B
    if (same_family || part) near.emplace_back(edit_distance(shape, other), preset.model.name);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> out;
  constexpr std::size_t kMost = 3;
  for (const auto& [distance, preset] : near) {
    if (out.size() < kMost) out.push_back(preset);
  }
  return out;
}

TitanModel titan_model_of(const Model& model) {
  const Row* row = row_of(model);
  return row == nullptr ? TitanModel{} : row->titan;
}

std::string preset_of_titan(std::string_view name, std::string_view flavor) {
  const auto same = [&](const Row& row) {
    return !name.empty() && row.titan.name == name && row.titan.flavor == flavor;
  };
  const auto row = std::ranges::find_if(kRows, same);
  return row == kRows.end() ? "" : std::string(row->preset);
}

}  // namespace plait
