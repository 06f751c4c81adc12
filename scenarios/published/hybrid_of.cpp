#include "scenarios/published/hybrid_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/presets.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

using HybridJson = nlohmann::ordered_json;

/// What records call a public model, and its preset.
struct KnownHybrid {
  std::string_view words, preset;
};
constexpr KnownHybrid kKnownHybrids[] = {
    {"qwen3-next-80b", "qwen3-next-80b-a3b"},   {"qwen3.5-35b-a3b", "qwen3.5-35b-a3b"},
    {"nemotron-h-8b", "nemotron-h-8b"},         {"nemotron-h-47b", "nemotron-h-47b"},
    {"nemotron-h-56b", "nemotron-h-56b"},       {"nemotron-nano-12b-v2", "nemotron-nano-12b-v2"},
    {"nemotron-3-nano", "nemotron-3-nano-30b"}, {"nemotron-nano-9b-v2", "nemotron-nano-9b-v2"},
};
/// Families of which each model has layers with states.
constexpr std::string_view kFamilies[] = {"qwen3-next",  "qwen3.5",   "nemotron-h", "nemotron-3",
                                          "kimi-linear", "falcon-h1", "mamba",      "jamba",
                                          "zamba",       "bamba",     "granite-4"};

const Preset* known_hybrid(const PublishedRun& run) {
  for (const KnownHybrid& known : kKnownHybrids) {
    if (!is_called(run.model.name, known.words)) continue;
    for (const Preset& preset : presets()) {
      if (preset.model.name == known.preset) return &preset;
    }
  }
  return nullptr;
}

bool is_hybrid(const PublishedRun& run) {
  const auto called = [&](std::string_view family) { return is_called(run.model.name, family); };
  return mentions(run.arguments, "--hybrid") || std::ranges::any_of(kFamilies, called);
}

void add_states(HybridJson& out, const Model& m) {
  out["layer_pattern"] = m.layer_pattern;
  out.update({{"state_size", m.state_size}, {"state_heads", m.state_heads}});
  out.update({{"state_head_dim", m.state_head_dim}, {"state_groups", m.state_groups}});
  out.update({{"conv_width", m.conv_width}, {"scan_chunk", m.scan_chunk}});
}

/// The record has the widths; the configuration says what each layer has.
void add_known(HybridJson& out, const Preset& preset, const PublishedRun& run,
               std::vector<std::string>& assumed) {
  const Model& m = preset.model;
  if (run.model.layers != m.layers || run.model.hidden != m.hidden) {
    throw NotRepresentable(fmt::format("{} layers of {}, and {} has {} of {}", run.model.layers,
                                       run.model.hidden, m.name, m.layers, m.hidden));
  }
  add_states(out, m);
  out["head_dim"] = m.head_dim;
  if (m.positions == PositionKind::kNone) out["positions"] = "none";
  if (m.rope_head_dim > 0) out["rope_head_dim"] = m.rope_head_dim;
  if (m.attention_gate) out["attention_gate"] = true;
  if (m.shared_expert_gate) out["shared_expert_gate"] = true;
  assumed.push_back(fmt::format(
      "layers \"{}\", heads of {}, mixers of {} heads of {} with states of {} in {} groups, "
      "convolution {}{}: {}",
      m.layer_pattern, m.head_dim, m.state_heads, m.state_head_dim, m.state_size, m.state_groups,
      m.conv_width, m.attention_gate ? ", gates of attention and of the shared expert" : "",
      preset.source));
  if (mentions(run.notes, "MTP 1 layer")) out["mtp_layers"] = 1;
}

/// The layers of modules that predict further tokens stand behind slashes, each as the model's last
/// ones: "MEM*E/*E/*E". Attention and what is behind it are one layer there, as they are here.
std::string without_modules(std::string pattern) {
  const std::size_t slash = pattern.find('/');
  if (slash == std::string::npos) return pattern;
  const std::string module = pattern.substr(pattern.rfind('/') + 1);
  pattern.resize(slash);
  if (module != "*E" || !pattern.ends_with(module))
    throw NotRepresentable("modules unlike the last layer are not planned yet");
  return pattern.replace(slash - module.size(), module.size(), "a");
}

/// Megatron-LM's defaults, megatron/training/arguments.py (--mamba-state-dim and the like) and
/// megatron/core/ssm/mamba_mixer.py (expand 2, d_conv 4, chunk_size 128).
void add_pattern(HybridJson& out, const std::string& pattern, const PublishedRun& run,
                 std::vector<std::string>& assumed) {
  Model m;
  m.layer_pattern = without_modules(pattern);
  m.state_size = number_behind(run, "--mamba-state-dim").value_or(128);
  m.state_head_dim = number_behind(run, "--mamba-head-dim").value_or(64);
  m.state_groups = number_behind(run, "--mamba-num-groups").value_or(8);
  m.state_heads = number_behind(run, "--mamba-num-heads")
                      .value_or(2 * run.model.hidden / std::max<std::int64_t>(1, m.state_head_dim));
  m.scan_chunk = 128;
  const auto layers = static_cast<std::int64_t>(m.layer_pattern.size());
  out["layers"] = layers;
  if (layers != run.model.layers && m.layer_pattern.find('a') == std::string::npos)
    assumed.push_back(fmt::format("layers: {}, as the pattern has", layers));
  add_states(out, m);
  assumed.push_back(fmt::format(
      "state-space mixers: {} heads of {} with states of {} in {} groups, Megatron-LM's defaults",
      m.state_heads, m.state_head_dim, m.state_size, m.state_groups));
}

}  // namespace

void add_hybrid(HybridJson& model, const PublishedRun& run, std::vector<std::string>& assumed) {
  if (const Preset* preset = known_hybrid(run)) return add_known(model, *preset, run, assumed);
  if (const auto pattern = word_behind(run, "--hybrid-(?:override|layer)-pattern"))
    return add_pattern(model, *pattern, run, assumed);
  if (is_hybrid(run)) throw NotRepresentable("which layers have states is not published");
}

}  // namespace plait
