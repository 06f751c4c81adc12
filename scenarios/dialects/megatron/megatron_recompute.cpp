// Recomputation as Megatron-LM has it: of whole layers, of attention, or of modules by name.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

/// Of --recompute-modules. core_attn alone is strategy.recompute.kind "selective".
struct SameModule {
  RecomputeModule module;
  std::string_view argument;
};
constexpr SameModule kRecomputeModules[] = {
    {RecomputeModule::kNorms, "layernorm"},
    {RecomputeModule::kLatents, "mla_up_proj"},
    {RecomputeModule::kExpertActivations, "moe_act"},
    {RecomputeModule::kMlp, "mlp"},
    {RecomputeModule::kSharedExperts, "shared_experts"},
    {RecomputeModule::kMoe, "moe"},
    {RecomputeModule::kAttention, "core_attn"},
};

/// There is none where all layers have experts.
bool names_mlp_in_vain(const Model& m, const RecomputeOptions& r) {
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    if (!m.has_experts(layer)) return false;
  }
  return std::ranges::count(r.modules, RecomputeModule::kMlp) > 0;
}

/// By the options of the file: the model of a base may be another.
bool has_experts_everywhere(Arguments& args) {
  const Arguments::Option* often = args.find("--moe-layer-freq");
  const bool all = often == nullptr || (often->values.size() == 1 && often->values[0].text == "1");
  return args.integer("--num-experts").value_or(1) > 1 && all;
}

/// The older name of module moe, beside core_attn, the default
/// (megatron/core/transformer/transformer_config.py).
constexpr const char* kMoeLayers = "--moe-layer-recompute";

std::vector<ShellWord> named_modules(Arguments& args) {
  const Arguments::Option* given = args.find("--recompute-modules");
  std::vector<ShellWord> names = {{.text = "core_attn"}};
  if (given != nullptr) names = given->values;
  const bool named = std::ranges::count(names, "moe", &ShellWord::text) > 0;
  if (args.flag(kMoeLayers) && !named) names.push_back({.text = "moe"});
  return names;
}

/// As JSON; nothing where attention alone is named, which is Megatron-LM's default.
std::optional<std::string> modules_of(Arguments& args, Warnings& warnings) {
  const char* option = "--recompute-modules";
  const std::vector<ShellWord> given = named_modules(args);
  if (given.size() == 1 && given[0].text == "core_attn") return std::nullopt;
  std::string names;
  for (const ShellWord& word : given) {
    // megatron/core/transformer/transformer_layer.py: of layers without experts.
    if (word.text == "mlp" && has_experts_everywhere(args)) {
      warnings.push_back(
          {"W008", fmt::format("mlp of {} (line {}) is left out: all layers have experts", option,
                               args.line(option))});
      continue;
    }
    const auto known = std::ranges::find(kRecomputeModules, word.text, &SameModule::argument);
    if (known == std::end(kRecomputeModules)) {
      args.unsupported(option, "recomputation of " + word.text);
      continue;
    }
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name_of(known->module));
  }
  return "[" + names + "]";
}

/// How the options are called. Before selective recomputation came in 2022 a method asked for that
/// of layers, and before that --checkpoint-activations did, as in Megatron-DeepSpeed.
struct Names {
  const char *method, *layers;
  bool full = false;  // asked for by one of the older
};
Names names_in(Arguments& args) {
  static constexpr Names kOlder[] = {
      {"--activations-checkpoint-method", "--activations-checkpoint-num-layers"},
      {"--checkpoint-activations", "--checkpoint-num-layers"}};
  const bool by_method = args.find(kOlder[0].method) != nullptr;
  const bool by_switch = args.flag(kOlder[1].method);
  if (by_method) return {kOlder[0].method, kOlder[0].layers, true};
  if (by_switch) return {"--recompute-method", kOlder[1].layers, true};
  return {"--recompute-method", "--recompute-num-layers"};
}

}  // namespace

void write_recompute(ExportDraft& d) {
  const RecomputeOptions& r = d.scenario.strategy.recompute;
  if (r.kind == Recompute::kOps || r.every != 1) return;
  std::string modules;
  for (const RecomputeModule module : r.modules) {
    const auto same = std::ranges::find(kRecomputeModules, module, &SameModule::module);
    if (same == std::end(kRecomputeModules)) return;
    modules.append(modules.empty() ? "" : " ").append(same->argument);
  }
  if (r.kind != Recompute::kNone) {
    d.set("--recompute-granularity", r.kind == Recompute::kFull ? "full" : "selective");
  }
  if (r.kind == Recompute::kFull) {
    d.set("--recompute-method", r.layers < 0 ? "uniform" : "block");
    d.set("--recompute-num-layers", r.layers < 0 ? 1 : r.layers);
  }
  if (!modules.empty()) d.set("--recompute-modules", modules);
  d.say({"strategy.recompute.every"});
  if (!names_mlp_in_vain(d.scenario.model, r)) {
    d.say({"strategy.recompute.kind", "strategy.recompute.modules"});
  }
  if (r.kind == Recompute::kFull || r.layers < 0) d.say({"strategy.recompute.layers"});
}

void read_recompute(Arguments& args, Imported& out) {
  const auto kind = args.one_of("--recompute-granularity", {"full", "selective"});
  const bool selective =
      kind == "selective" || args.flag("--recompute-activations") || args.flag(kMoeLayers);
  const Names names = names_in(args);
  const auto method = args.one_of(names.method, {"uniform", "block"});
  if (kind == "full" && args.flag(kMoeLayers)) args.contradiction(kMoeLayers, "full recomputation");
  const std::int64_t layers = args.integer(names.layers, 0).value_or(1);
  if (selective && method) {
    args.contradiction(names.method, "selective recomputation");
  }
  const bool full = (kind == "full" || names.full) && !selective;
  if (full && method != "block" && layers > 1) {
    out.warnings.push_back(
        {"W008", fmt::format("{} of uniform recomputation is read as 1", names.layers)});
  }
  const auto give = [&](const char* by, const char* path, std::string json) {
    out.give(path, std::move(json), args.line(by));
  };
  const std::optional<std::string> named =
      selective ? modules_of(args, out.warnings) : std::optional<std::string>();
  const std::string modules = named.value_or("[]");
  give("--recompute-granularity", "strategy.recompute.kind",
       full                          ? R"("full")"
       : !selective || named == "[]" ? R"("none")"
       : !named                      ? R"("selective")"
                                     : R"("modules")");
  give("--recompute-modules", "strategy.recompute.modules", modules);
  give(names.layers, "strategy.recompute.layers",
       std::to_string(full && method == "block" ? layers : -1));
  out.give("strategy.recompute.every", "1");
}

}  // namespace plait::megatron
