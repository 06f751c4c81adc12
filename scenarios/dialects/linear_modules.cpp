#include "scenarios/dialects/linear_modules.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/file.h"
#include "core/json.h"

namespace plait {
namespace {

using T = AdapterTarget;

struct FamilyModules {
  std::string_view name;  // what presets, or model_type, begin with
  bool packs_qkv = false, packs_gate = false;
};
/// The first that fits.
constexpr std::array<FamilyModules, 23> kFamilyModules = {{
    {"falcon", true},  // query_key_value
    {"gpt-neox", true},
    {"gpt_neox", true},
    {"pythia", true},
    {"bloom", true},
    {"gpt2", true},         // c_attn
    {"phi-4", true, true},  // qkv_proj and gate_up_proj
    {"phi3", true, true},
    {"phi"},
    {"gpt-j"},
    {"gptj"},
    {"opt"},
    {"llama"},
    {"codellama"},
    {"tinyllama"},
    {"mistral"},
    {"qwen-2.5"},
    {"qwen2"},
    {"qwen3"},
    {"olmo"},
    {"yi-"},
    {"gemma"},
    {"granite"},
}};

/// A preset's, or the model_type of a config.json; "": of neither.
std::string family_of(const nlohmann::ordered_json& said, const std::filesystem::path& folder) {
  if (said.is_string()) return said.get<std::string>();
  if (said.contains("preset")) return said["preset"].get<std::string>();
  if (!said.contains("hf_config")) return "";
  const std::string file = (folder / said["hf_config"].get<std::string>()).string();
  const JsonDocument config = parse_json(read_text_file(file), file);
  const Json* type = config.root().find("model_type");
  return type != nullptr && type->is(Json::Kind::kText) ? type->text() : "";
}

}  // namespace

LinearModules linear_modules(const nlohmann::ordered_json& said,
                             const std::filesystem::path& folder, const Model& model) {
  const std::string name = family_of(said, folder);
  const auto begins = [&name](const FamilyModules& f) { return name.starts_with(f.name); };
  const auto* const found = std::ranges::find_if(kFamilyModules, begins);
  const bool assumed = found == kFamilyModules.end();
  const bool packs_qkv = !assumed && found->packs_qkv;
  const bool halves = model.gated_mlp && (assumed || !found->packs_gate);
  LinearModules out{.targets = {}, .assumed = assumed};
  out.targets = packs_qkv ? std::vector{T::kQkv} : std::vector{T::kQ, T::kK, T::kV};
  out.targets.push_back(T::kOut);
  if (halves) {
    out.targets.insert(out.targets.end(), {T::kGateHalf, T::kUpHalf});
  } else {
    out.targets.push_back(T::kUp);
  }
  out.targets.push_back(T::kDown);
  return out;
}

}  // namespace plait
