#include "scenarios/dialects/hub_names.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/spelling.h"
#include "model/presets.h"
#include "scenarios/fields.h"

namespace plait {
namespace {

struct Row {
  std::string_view preset, hub;
  TitanModel titan = {};
};
// torchtitan: torchtitan/models/llama3/__init__.py.
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
    Row{"qwen3-0.6b", "Qwen/Qwen3-0.6B"},
    Row{"qwen3-1.7b", "Qwen/Qwen3-1.7B"},
    Row{"qwen3-4b", "Qwen/Qwen3-4B"},
    Row{"qwen3-8b", "Qwen/Qwen3-8B"},
    Row{"qwen3-14b", "Qwen/Qwen3-14B"},
    Row{"qwen3-32b", "Qwen/Qwen3-32B"},
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
    Row{"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B"},
    Row{"qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B"},
    Row{"qwen3-coder-480b-a35b", "Qwen/Qwen3-Coder-480B-A35B-Instruct"},
    Row{"qwen3-next-80b-a3b", "Qwen/Qwen3-Next-80B-A3B-Instruct"},
    Row{"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B"},
    Row{"gpt-oss-20b", "openai/gpt-oss-20b"},
    Row{"gpt-oss-120b", "openai/gpt-oss-120b"},
    Row{"deepseek-v2-lite", "deepseek-ai/DeepSeek-V2-Lite"},
    Row{"deepseek-v2", "deepseek-ai/DeepSeek-V2"},
    Row{"deepseek-v3", "deepseek-ai/DeepSeek-V3"},
    Row{"deepseek-r1", "deepseek-ai/DeepSeek-R1"},
    Row{"kimi-k2", "moonshotai/Kimi-K2-Instruct"},
    Row{"glm-4.5", "zai-org/GLM-4.5"},
    Row{"glm-4.5-air", "zai-org/GLM-4.5-Air"},
    Row{"nemotron-h-8b", "nvidia/Nemotron-H-8B-Base-8K"},
    Row{"nemotron-nano-9b-v2", "nvidia/NVIDIA-Nemotron-Nano-9B-v2"},
    Row{"nemotron-3-nano-30b", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B"},
};
/// Words that releases of one shape differ by.
constexpr std::array<std::string_view, 11> kOfReleases = {
    "instruct", "base", "chat", "it", "pt", "hf", "meta", "0324", "0528", "0905", "2507"};

const Row* row_of(const Model& model) {
  const auto* row = std::ranges::find(kRows, model.name, &Row::preset);
  if (row == kRows.end()) return nullptr;
  const bool unchanged =
      model_table().write(model) == model_table().write(*find_preset(row->preset));
  return unchanged ? row : nullptr;
}

/// The last part of a path, in small letters.
std::string last_part(std::string_view name) {
  return lower_case(name.substr(name.rfind('/') + 1));
}

/// The same without the words of a release: "mixtral-8x7b-v0.1" of Mixtral-8x7B-Instruct-v0.1.
std::string shape_of(std::string_view name) {
  std::string out;
  std::istringstream words(last_part(name));
  for (std::string word; std::getline(words, word, '-');) {
    if (std::ranges::find(kOfReleases, word) == kOfReleases.end()) out += "-" + word;
  }
  return out;
}

}  // namespace

std::string_view hub_name_of(const Model& model) {
  const Row* row = row_of(model);
  return row == nullptr ? std::string_view() : row->hub;
}

std::string preset_of_hub_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (shape_of(row.hub) == shape_of(name)) return std::string(row.preset);
  }
  const Model* model = find_preset(last_part(name));
  return model == nullptr ? "" : model->name;
}

TitanModel titan_model_of(const Model& model) {
  const Row* row = row_of(model);
  return row == nullptr ? TitanModel{} : row->titan;
}

}  // namespace plait
