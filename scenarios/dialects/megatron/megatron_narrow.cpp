// Products in few bits as Megatron-LM has them: --fp8-format and, apart from it, --fp4-format e2m1
// with --fp4-recipe nvfp4; --first-last-layers-bf16 leaves layers at both ends in 16 bits, one at
// each where no other number is given (megatron/core/transformer/transformer_config.py).
// --fp8-param-gather (TransformerConfig.fp8_param): weights are kept in 8 bits, and gathered so but
// with --fp8-recipe mxfp8, whose two forms cannot be made of one another: there both are cast
// behind a gather in 16 bits, for which --reuse-grad-buf-for-mxfp8-param-ag has the gradients'
// buffer.
#include <fmt/format.h>

#include "core/json.h"
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr const char *kFp8 = "--fp8-format", *kFp4 = "--fp4-format", *kRecipe = "--fp4-recipe";
constexpr const char *kGather = "--fp8-param-gather", *kGatherBefore = "--fp8-param";
constexpr const char* kReuse = "--reuse-grad-buf-for-mxfp8-param-ag";
constexpr const char *kFp8Recipe = "--fp8-recipe", *kPlain = "--first-last-layers-bf16";
struct PlainLayers {
  const char *argument, *path;
  std::int64_t Precision::*layers;
};
constexpr PlainLayers kEnds[] = {
    {"--num-layers-at-start-in-bf16", "workload.precision.plain_first", &Precision::plain_first},
    {"--num-layers-at-end-in-bf16", "workload.precision.plain_last", &Precision::plain_last}};

/// What the scales of casts follow from, in Plait's words.
struct FoundBy {
  std::string_view recipe, name;
};
constexpr FoundBy kFoundBy[] = {
    {"delayed", "fused"}, {"tensorwise", "eager"}, {"blockwise", "blocks"}, {"mxfp8", "blocks"}};

/// Devices that multiply scales of 32 elements in their matrix units have products in 4 bits too.
bool multiplies_micro_scales(const Scenario& s) { return s.cluster.device.peak_fp4.value > 0; }

std::string recipe_of(const Scenario& s) {
  if (s.kernels.amax == Fusion::kBlocks) {
    return multiplies_micro_scales(s) ? "mxfp8" : "blockwise";
  }
  return s.kernels.amax == Fusion::kEager ? "tensorwise" : "delayed";
}

/// What a recipe has where nothing is said (transformer_engine/common/recipe/__init__.py):
/// gradients in E5M2 beside a scale for all of a tensor, and all in E4M3 beside scales of blocks.
/// No scenario tells the two apart, which take as long.
std::string format_of(std::string_view recipe) {
  return recipe == "blockwise" || recipe == "mxfp8" ? "e4m3" : "hybrid";
}

/// Weights stay in 8 bits beside a distributed optimizer alone (validate_args), and where they are
/// not gathered so, with mxfp8.
bool can_keep(const Scenario& s) {
  const Precision& p = s.workload.precision;
  const bool kept = p.matmul == DType::kFp8 && p.keeps_narrow() && s.strategy.zero_stage >= 1;
  return kept && (p.gathers_narrow() || multiplies_micro_scales(s));
}

/// The format, and the recipe, of which "delayed" is the default: weights that are kept and not
/// gathered in 8 bits are mxfp8's.
void write_recipe(ExportDraft& d, bool kept) {
  const std::string recipe = kept ? "mxfp8" : recipe_of(d.scenario);
  d.set(kFp8, format_of(recipe));
  if (recipe != "delayed") d.set(kFp8Recipe, recipe);
  if (!kept || d.scenario.kernels.amax == Fusion::kBlocks) d.say({"kernels.amax"});
}

void read_recipe(const std::string& recipe, Arguments& args, Imported& out) {
  for (const FoundBy& scales : kFoundBy) {
    if (scales.recipe == recipe)
      out.give("kernels.amax", json_quote(std::string(scales.name)), args.line(kFp8Recipe));
  }
}

}  // namespace

void write_narrow(ExportDraft& d) {
  const Precision& p = d.scenario.workload.precision;
  if (p.matmul == DType::kNvfp4) d.set(kFp4, "e2m1"), d.set(kRecipe, "nvfp4");
  const bool kept = can_keep(d.scenario), mxfp8 = kept && !p.gathers_narrow();
  if (p.matmul == DType::kFp8) write_recipe(d, mxfp8);
  if (kept) {
    if (mxfp8) d.set(kReuse);
    d.set(kGather);
    d.say({"workload.precision.narrow_weights"});
  }
  const bool plain = p.narrows() && p.plain_first + p.plain_last > 0;
  if (plain) d.set(kPlain);
  for (const PlainLayers& end : kEnds) {
    if (plain) d.set(end.argument, p.*end.layers);
    if (p.narrows()) d.say({end.path});
  }
  d.say({"workload.precision.matmul"});
}

void read_narrow(Arguments& args, Imported& out, const std::string& weights) {
  args.exclusive(kFp8, kFp4);
  const auto format = args.one_of(kFp8, {"e4m3", "hybrid"});
  const bool fp8 = format.has_value();
  const bool fp4 = args.one_of(kFp4, {"e2m1"}).has_value();
  args.one_of(kRecipe, {"nvfp4"});
  out.give("workload.precision.matmul",
           json_quote(fp8   ? "fp8"
                      : fp4 ? "nvfp4"
                            : weights),
           args.line(fp4 ? kFp4 : kFp8));
  const auto recipe =
      args.one_of(kFp8Recipe, {"delayed", "tensorwise", "blockwise", "mxfp8", "custom"});
  if (fp8 && recipe) read_recipe(*recipe, args, out);
  const std::string usual = format_of(recipe.value_or("delayed"));
  if (fp8 && *format != usual) {
    out.warnings.push_back(
        {"W008", fmt::format("{} {} is read as {}: a scenario has one format of products in 8 bits",
                             kFp8, *format, usual)});
  }
  const bool mxfp8 = recipe == "mxfp8";
  const char* const gather = args.find(kGatherBefore) != nullptr ? kGatherBefore : kGather;
  const bool narrow = args.flag(gather) && fp8;
  args.flag(kReuse);
  out.give("workload.precision.narrow_weights",
           json_quote(!narrow ? "none"
                      : mxfp8 ? "kept"
                              : "gathered"),
           args.line(gather));
  const bool plain = args.flag(kPlain) && (fp8 || fp4);
  for (const PlainLayers& end : kEnds) {
    const std::int64_t layers = args.integer(end.argument, 0).value_or(1);
    out.give(end.path, std::to_string(plain ? layers : 0),
             args.line(plain ? end.argument : kPlain));
  }
}

}  // namespace plait::megatron
