#include "scenarios/published/adapters_of.h"

#include "core/spelling.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

using JsonObject = nlohmann::ordered_json;

void require_planned(const PublishedRun& run) {
  if (run.model.experts > 0)
    throw NotRepresentable("low-rank adapters beside experts are not planned yet");
}

}  // namespace

// Those of Megatron-Bridge's and NeMo's pages of performance: dim 8 and alpha 16 of their recipes
// (recipes/llama/llama3.py, LoRA(dim=8, alpha=16); NeMo collections/llm/recipes/llama3_70b.py), on
// linear_qkv alone (scripts/performance, cfg.peft.target_modules = ["linear_qkv"]). MLPerf
// Training's Llama 2 70B: rank 16, alpha 32, attention's two products (mlcommons/training,
// llama2_70b_lora). Of others what LoRA() is by default (Megatron-Bridge peft/lora.py): dim 32 and
// alpha 32 on all four products.
JsonObject adapters_of(const PublishedRun& run, std::vector<std::string>& assumed) {
  require_planned(run);
  const std::string source = lower_case(run.source + run.framework);
  if (mentions(source, "mlperf")) {
    assumed.emplace_back("adapters: those of MLPerf, rank 16, alpha 32, on qkv and out");
    return {{"rank", 16}, {"alpha", 32}, {"targets", JsonObject::array({"qkv", "out"})}};
  }
  if (mentions(source, "megatron-bridge") || mentions(source, "nemo")) {
    assumed.emplace_back("adapters: those of the performance recipes, rank 8, alpha 16, on qkv");
    return {{"rank", 8}, {"alpha", 16}, {"targets", JsonObject::array({"qkv"})}};
  }
  assumed.emplace_back(
      "adapters: Megatron-Bridge's default, rank 32, on all four products of a layer");
  return {{"rank", 32}};
}

}  // namespace plait
