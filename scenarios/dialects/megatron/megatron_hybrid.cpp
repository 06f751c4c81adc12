// Hybrids as Megatron-LM's pretrain_mamba.py has them: each layer has one part, which
// --hybrid-override-pattern names by the letters of model.layer_pattern. Without it layers are
// dealt by the ratios of attention and of MLPs among them, without which all have states
// (megatron/core/ssm/mamba_hybrid_layer_allocation.py). A layer of states is --mamba-num-heads
// heads, or as many as make the layer twice as wide as the model; a convolution of 4 tokens and
// chunks of 128 have no arguments (megatron/core/ssm/mamba_mixer.py).
#include <cmath>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kPattern = "--hybrid-override-pattern",
                     *kAttentionRatio = "--hybrid-attention-ratio",
                     *kMlpRatio = "--hybrid-mlp-ratio", *kHybrid = "--is-hybrid-model",
                     *kStates = "--mamba-state-dim", *kStateHeadDim = "--mamba-head-dim",
                     *kStateGroups = "--mamba-num-groups", *kStateHeads = "--mamba-num-heads";
constexpr std::int64_t kExpansion = 2, kConvolution = 4, kChunk = 128;

std::int64_t share(std::int64_t layers, double ratio) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(layers) * ratio));
}

/// Of the layers with states as many as `others` become `part`, evenly spread, each behind `run`
/// that stay.
void deal(std::string& pattern, char part, double run) {
  double left = run;
  for (char& layer : pattern) {
    if (layer != 'M') continue;
    if (left < 0.5) {
      layer = part;
      left += run;
    } else {
      left -= 1;
    }
  }
}

/// Sections of layers with states lie around attention; MLPs are the last of the parts that they
/// are dealt to.
std::string dealt(std::int64_t layers, double attention_ratio, double mlp_ratio) {
  std::string out(static_cast<std::size_t>(layers), 'M');
  const std::int64_t attention = share(layers, attention_ratio), mlps = share(layers, mlp_ratio);
  const std::int64_t rest = layers - attention;
  if (attention > 0) {
    deal(out, '*', static_cast<double>(rest) / static_cast<double>(attention + 1));
  }
  if (mlps > 0) deal(out, '-', static_cast<double>(rest - mlps) / static_cast<double>(mlps));
  return out;
}

}  // namespace

bool has_pattern(const Model& m) {
  return !m.layer_pattern.empty() && m.layer_pattern.find_first_not_of("M*-") == std::string::npos;
}

void write_hybrid(ExportDraft& d) {
  const Model& m = d.scenario.model;
  if (m.layer_pattern.empty()) return d.say({"model.layer_pattern"});
  if (!has_pattern(m)) return;
  d.set(kHybrid);
  d.set(kPattern, "'" + m.layer_pattern + "'");
  d.set(kStates, m.state_size);
  d.set(kStateHeads, m.state_heads);
  d.set(kStateHeadDim, m.state_head_dim);
  d.set(kStateGroups, m.state_groups);
  d.set("--spec", "megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec");
  d.say({"model.layer_pattern", "model.state_size", "model.state_heads", "model.state_head_dim",
         "model.state_groups"});
  if (m.conv_width == kConvolution) d.say({"model.conv_width"});
  if (m.scan_chunk == kChunk) d.say({"model.scan_chunk"});
}

void read_hybrid(Arguments& args, Imported& out, std::int64_t layers, std::int64_t hidden) {
  const auto pattern = args.text(kPattern);
  const double attention = args.number(kAttentionRatio).value_or(0);
  const double mlps = args.number(kMlpRatio).value_or(0);
  const std::int64_t states = args.integer(kStates).value_or(128);
  const std::int64_t width = args.integer(kStateHeadDim).value_or(64);
  const std::int64_t groups = args.integer(kStateGroups).value_or(8);
  const std::int64_t heads = args.integer(kStateHeads).value_or(hidden * kExpansion / width);
  args.find("--spec");
  const bool hybrid = args.flag(kHybrid) || pattern || attention > 0 || mlps > 0;
  const auto give = [&](const char* argument, const char* path, std::string json) {
    out.give(path, std::move(json), args.line(argument));
  };
  give(kPattern, "model.layer_pattern",
       json_quote(!hybrid   ? ""
                  : pattern ? *pattern
                            : dealt(layers, attention, mlps)));
  if (!hybrid) return;
  give(kStates, "model.state_size", std::to_string(states));
  give(kStateHeads, "model.state_heads", std::to_string(heads));
  give(kStateHeadDim, "model.state_head_dim", std::to_string(width));
  give(kStateGroups, "model.state_groups", std::to_string(groups));
  give(kHybrid, "model.conv_width", std::to_string(kConvolution));
  give(kHybrid, "model.scan_chunk", std::to_string(kChunk));
}

}  // namespace plait::megatron
