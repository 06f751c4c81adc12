// Hybrids as Megatron-LM's pretrain_mamba.py has them: each layer has one part, which
// --hybrid-override-pattern names by the letters of model.layer_pattern, and --hybrid-layer-pattern
// in later versions, which says how many layers there are too
// (megatron/core/models/hybrid/hybrid_layer_allocation.py at commit 089b33b8). Without it layers
// are dealt by the ratios of attention and of MLPs among them, without which all have states
// (megatron/core/ssm/mamba_hybrid_layer_allocation.py). A layer of states is --mamba-num-heads
// heads, or as many as make the layer twice as wide as the model; a convolution of 4 tokens and
// chunks of 128 have no arguments (megatron/core/ssm/mamba_mixer.py).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/split.h"
#include "plan/refusal.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kPattern = "--hybrid-override-pattern", *kLater = "--hybrid-layer-pattern",
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

/// Letters of layers that mamba_hybrid_layer_allocation.py's Symbols has not: those with a delta
/// net, and those that are two of its layers.
constexpr const char* kNoSymbols = "Ggma";

/// D009 for a pattern without which the arguments would be those of another model. One of `a` alone
/// is a model without a pattern.
void refuse_other_patterns(const Scenario& s) {
  const std::string& pattern = s.model.layer_pattern;
  const std::size_t at = pattern.find_first_of(kNoSymbols);
  const bool plain = pattern.find_first_not_of('a') == std::string::npos;
  if (at == std::string::npos || plain) return;
  throw locate(
      refusal("D009",
              fmt::format("Megatron-LM's --hybrid-override-pattern has no layer {}", pattern[at]),
              "model.layer_pattern", "letters M, *, - and E",
              "write m as M- and a as *-, or ME and *E with experts, which compute the "
              "same; its pattern has no delta nets"),
      s);
}

/// By which name the pattern is given.
const char* pattern_option(const Arguments& args) { return args.has(kLater) ? kLater : kPattern; }

/// Letters that are none of model.layer_pattern's by what they are there (layers/utils.py).
struct OtherLetter {
  char letter;
  std::string_view what;
};
constexpr OtherLetter kOtherLetters[] = {{'D', "sparse attention of DeepSeek-V3.2"},
                                         {'C', "compressed sparse attention"},
                                         {'H', "heavily compressed attention"},
                                         {'W', "attention of a sliding window"},
                                         {'+', "attention with latents"},
                                         {'[', "groups of layers"},
                                         {'/', "modules that predict further tokens"}};

/// D006 for what is none, D003 for what is no letter at all.
void refuse_other_letters(Arguments& args, const char* option, const std::string& pattern) {
  const std::size_t at = pattern.find_first_not_of("MG*-E|");
  if (at == std::string::npos) return;
  const auto* other = std::ranges::find(kOtherLetters, pattern[at], &OtherLetter::letter);
  if (other != std::end(kOtherLetters))
    args.unsupported(option, fmt::format("{} ({})", other->what, pattern[at]));
  args.malformed(option, fmt::format("letters M, G, *, - and E, not {}", pattern[at]));
}

/// The pattern without the ends of stages, which are those of an even share or else not read.
std::string without_stages(const char* option, const std::string& pattern, Imported& out) {
  const std::vector<std::string> stages = split(pattern, '|');
  const auto unlike = [&](const std::string& s) { return s.size() != stages.front().size(); };
  if (std::ranges::any_of(stages, unlike))
    warn_unread({fmt::format("stages in {}", option)}, out.warnings);
  std::string whole = pattern;
  std::erase(whole, '|');
  return whole;
}

std::optional<std::string> read_pattern(Arguments& args, Imported& out) {
  args.exclusive(kPattern, kLater);
  const char* option = pattern_option(args);
  const auto given = args.text(option);
  if (!given) return std::nullopt;
  refuse_other_letters(args, option, *given);
  return without_stages(option, *given, out);
}

}  // namespace

std::int64_t layers_of_pattern(Arguments& args) {
  const auto pattern = args.text(kLater);
  if (!pattern) return 0;
  const std::string main = pattern->substr(0, pattern->find('/'));
  return std::ranges::count_if(main, [](char c) { return c != '|' && c != '[' && c != ']'; });
}

bool has_pattern(const Model& m) {
  return !m.layer_pattern.empty() && m.layer_pattern.find_first_of(kNoSymbols) == std::string::npos;
}

void write_hybrid(ExportDraft& d) {
  const Model& m = d.scenario.model;
  refuse_other_patterns(d.scenario);
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
  if (read_delta_nets(args, out, layers)) return;
  const std::optional<std::string> pattern = read_pattern(args, out);
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
  give(pattern_option(args), "model.layer_pattern",
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
