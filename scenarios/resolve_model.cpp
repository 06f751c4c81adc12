#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "core/file.h"
#include "model/hf_config.h"
#include "model/presets.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

ImportedModel import_model(const std::string& path, const std::string& scenario_file,
                           Warnings& warnings) {
  const std::filesystem::path folder = std::filesystem::path(scenario_file).parent_path();
  const std::string file = (folder / path).string();
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const InputError& e) {  // point at the line that names the file
    refuse_field(e.text().code.c_str(), e.text().problem, "model.hf_config",
                 "a config.json, by its path relative to the scenario file", "correct the path");
  }
  ImportedModel imported = import_hf_config(text, file);
  if (!imported.ignored_keys.empty()) {
    warnings.push_back(
        {"W002", fmt::format("{}: ignored {}", file, fmt::join(imported.ignored_keys, ", "))});
  }
  if (!imported.assumed_defaults.empty()) {
    warnings.push_back(
        {"W003", fmt::format("{}: assumed {}", file, fmt::join(imported.assumed_defaults, ", "))});
  }
  return imported;
}

/// Fields that follow from others when absent.
void fill(Model& m, std::int64_t sequence_length) {
  if (m.name.empty()) m.name = "custom";
  if (m.ffn_hidden == 0) m.ffn_hidden = 4 * m.hidden;
  if (m.experts > 0 && m.expert_ffn_hidden == 0) m.expert_ffn_hidden = m.ffn_hidden;
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  if (m.head_dim == 0) {
    if (m.latent_attention()) {
      refuse_field("S123", "latent attention does not say how wide a head is", "model.head_dim",
                   "the columns of a key that are a head's own and those that all share, together",
                   "set model.head_dim");
    }
    if (m.hidden % m.heads != 0) {
      refuse_field("S003",
                   fmt::format("hidden = {} is no multiple of heads = {}", m.hidden, m.heads),
                   "model.heads", "a divisor of hidden, or head_dim given", "set model.head_dim",
                   {"model.hidden"});
    }
    m.head_dim = m.hidden / m.heads;
  }
  if (m.max_positions == 0) m.max_positions = sequence_length;
}

void check(const Model& m) {
  if (m.heads % m.kv_heads != 0) {
    refuse_field("S003",
                 fmt::format("heads = {} is no multiple of kv_heads = {}", m.heads, m.kv_heads),
                 "model.kv_heads", fmt::format("a divisor of {}", m.heads),
                 "correct model.kv_heads", {"model.heads"});
  }
}

}  // namespace

ResolvedModel resolve_model(const Json* json, ModelPart part, const std::string& scenario_file,
                            std::int64_t sequence_length, Warnings& warnings) {
  if (!part.preset.empty() && !part.hf_config.empty()) {
    refuse_field("S005", "the model has both a preset and an hf_config", "model.hf_config",
                 "one of them", "remove one", {"model.preset"});
  }
  Base base = Base::kNone;
  std::optional<HfQuantization> quantization;
  if (!part.preset.empty()) {
    const Model* preset = find_preset(part.preset);
    PLAIT_CHECK(preset != nullptr, "the reader lets only known presets pass");
    part.model = *preset;
    base = Base::kGiven;
  } else if (!part.hf_config.empty()) {
    ImportedModel imported = import_model(part.hf_config, scenario_file, warnings);
    part.model = std::move(imported.model);
    quantization = std::move(imported.quantization);
    base = Base::kGiven;
  }
  // A changed size takes with it what follows from it, unless that is written too.
  const auto changed = [&](const char* key) { return json->find(key) != nullptr; };
  if (base == Base::kGiven && (changed("hidden") || changed("heads"))) {
    if (!changed("head_dim") && !part.model.latent_attention()) part.model.head_dim = 0;
    const bool all_heads = part.model.kv_heads == part.model.heads;
    if (all_heads && !changed("kv_heads")) part.model.kv_heads = 0;
  }
  model_part_table().read(*json, part, base);
  fill(part.model, sequence_length);
  check(part.model);
  return {std::move(part.model), std::move(quantization)};
}

void require_learned_positions(const Model& m, std::int64_t sequence_length) {
  if (m.positions != PositionKind::kLearned || sequence_length <= m.max_positions) return;
  refuse_field("S004",
               fmt::format("the sequence of {} tokens is longer than the {} learned positions",
                           sequence_length, m.max_positions),
               "workload.sequence_length", fmt::format("at most {}", m.max_positions),
               "shorten the sequence or raise model.max_positions", {"model.max_positions"});
}

}  // namespace plait
