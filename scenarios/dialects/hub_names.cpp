#include "scenarios/dialects/hub_names.h"

#include <algorithm>
#include <array>

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
    Row{"llama-2-7b", "meta-llama/Llama-2-7b-hf"},
    Row{"llama-2-13b", "meta-llama/Llama-2-13b-hf"},
    Row{"llama-2-70b", "meta-llama/Llama-2-70b-hf"},
    Row{"llama-3.1-8b", "meta-llama/Llama-3.1-8B", {"llama3", "8B"}},
    Row{"llama-3.1-70b", "meta-llama/Llama-3.1-70B", {"llama3", "70B"}},
    Row{"llama-3.1-405b", "meta-llama/Llama-3.1-405B", {"llama3", "405B"}},
    Row{"mistral-7b", "mistralai/Mistral-7B-Instruct-v0.2"},
    Row{"mistral-7b-v0.1", "mistralai/Mistral-7B-v0.1"},
    Row{"gpt-oss-20b", "openai/gpt-oss-20b"},
    Row{"gpt-oss-120b", "openai/gpt-oss-120b"},
    Row{"qwen-2.5-72b", "Qwen/Qwen2.5-72B"},
    Row{"falcon-40b", "tiiuae/falcon-40b"},
};

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

}  // namespace

std::string_view hub_name_of(const Model& model) {
  const Row* row = row_of(model);
  return row == nullptr ? std::string_view() : row->hub;
}

std::string preset_of_hub_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (last_part(row.hub) == last_part(name)) return std::string(row.preset);
  }
  const Model* model = find_preset(last_part(name));
  return model == nullptr ? "" : model->name;
}

TitanModel titan_model_of(const Model& model) {
  const Row* row = row_of(model);
  return row == nullptr ? TitanModel{} : row->titan;
}

}  // namespace plait
