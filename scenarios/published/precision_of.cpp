#include "scenarios/published/precision_of.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/spelling.h"
#include "scenarios/ampere.h"
#include "scenarios/published/adapters_of.h"
#include "scenarios/published/machine_of.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/published/state_of.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

bool in_fp8(const std::string& precision) {
  return asserted(precision, "fp8|float8").has_value();  // "bf16, no fp8" is none
}

bool in_nvfp4(const PublishedRun& run) {
  return asserted(plain_text(run.precision), R"(\bnv ?fp4\b)").has_value();
}

/// Recipes that set fp8_param_gather False (Megatron-Bridge,
/// deepseek_v3_pretrain_1024gpu_h100_fp8cs_config, whose scales are of blocks, and
/// kimi_k2_pretrain_256gpu_gb200_fp8mx_config).
bool keeps_none(const PublishedRun& run) {
  return is_called(run.model.name, "deepseek") || is_called(run.model.name, "kimi");
}

bool tunes_by_launcher(const PublishedRun& run) {
  return mentions(run.source, "release 24.07") && mentions(run.source, "Finetuning SFT");
}

/// Whose recipes in fp8 keep weights in 8 bits beside the distributed optimizer.
bool keeps_by_recipe(const PublishedRun& run) {
  // src/megatron/bridge/training/mixed_precision.py, bf16_with_fp8_delayed_scaling_mixed and
  // bf16_with_fp8_current_scaling_mixed: fp8_param_gather True; scripts/performance/utils, in all
  // releases, takes these two and narrows the first and the last layer too.
  if (mentions(run.source, "Megatron-Bridge")) return true;
  // nemo/collections/llm/recipes/precision/mixed_precision.py, bf16_with_fp8_mixed, of NeMo 2.0 and
  // later: fp8_params, later fp8_param_gather, True.
  if (mentions(run.source, "NeMo 25.")) return true;
  // Of v24.11.1 llama3.1/configure.sh and nemotron/configure.sh: +model.fp8_params=$FP8_ENABLED,
  // nemo_megatron/gpt3_175b_hydra.yaml: fp8_params: true; later NeMo 2.0's recipe.
  if (mentions(run.source, "dgxc-benchmarking")) return true;
  // NeMo-Framework-Launcher, examples/peft/llama/h100/{7b,13b}_1node.sh, 70b_2node.sh, and those of
  // nemotron: ++peft.model.fp8_params=true. Those in examples/training do not say it, but for
  // Mixtral.
  if (tunes_by_launcher(run)) return true;
  // train_llama3_8b_h100_fp8.sh: --fp8-param-gather.
  return mentions(run.source, "Megatron-LM examples/llama");
}

bool gathers_8_bits(const PublishedRun& run) {
  return mentions(lower_case(run.precision), "fp8 all-gather");
}

/// A name of NarrowWeights.
std::string narrow_weights_of(const PublishedRun& run) {
  const std::string precision = lower_case(run.precision);
  const bool by_parts = scales_by_blocks(run) || mentions(precision, "rowwise");
  if (!in_fp8(precision) || by_parts || keeps_none(run)) return "none";
  const auto stage = run.layout.zero_stage.value_or(0);
  if (stage == 3) return gathers_8_bits(run) ? "gathered" : "none";
  if (stage != 1) return "none";
  // bf16_with_mxfp8_mixed, in the file of the other two: fp8_param_gather True, and
  // reuse_grad_buf_for_mxfp8_param_ag True.
  if (in_mxfp8(run)) return mentions(run.source, "Megatron-Bridge") ? "kept" : "none";
  return keeps_by_recipe(run) ? "gathered" : "none";
}

/// Numbers that no plan has. Of what is frozen beside adapters those of few bits are read
/// (adapters_of.cpp).
void refuse_other_numbers(const PublishedRun& run) {
  constexpr const char* kOthers = R"(\btf32\b|\b(?:fp|float)(?:6|24|64)\b|\bdouble\b(?! quant))";
  constexpr const char* kFewBits = R"(\b(?:(?:mx ?)?fp4|u?int[48]|nf4|w\d{1,2}a\d{1,2})\b)";
  const std::string precision = plain_text(run.precision);
  std::optional<Mention> found = asserted(precision, kOthers);
  if (!found && !has_adapters(run) && !in_nvfp4(run)) found = asserted(precision, kFewBits);
  if (found)
    throw NotRepresentable(fmt::format("products in {} are not planned yet", found->words));
}

/// Where nothing says which type of 16 bits it is: bf16, but on GPUs that have no units for it.
std::string usual_type(const PublishedRun& run) {
  const std::string device = device_of_run(run);
  return !device.empty() && predates_ampere(find_device(device)) ? "fp16" : "bf16";
}

/// bf16 where only the products' type is said.
std::string weights_of(const PublishedRun& run, std::vector<std::string>& assumed) {
  refuse_other_numbers(run);
  const std::string precision = plain_text(run.precision);
  const auto says = [&](const char* type) { return asserted(precision, type).has_value(); };
  // Lightning's "16-mixed" and "32-true" (its documentation, N-bit precision).
  if (says(R"(\b(?:fp|float)16|^16 mixed\b)")) return "fp16";
  if (says("bf16|bfloat16") || in_fp8(precision) || in_nvfp4(run)) return "bf16";
  if (says(R"(\bhalf\b)")) return "fp16";
  if (says(R"(fp32|float32|^32 true\b)")) return "fp32";
  const std::string usual = usual_type(run);
  assumed.push_back(precision.empty() ? fmt::format("precision: {}", usual)
                                      : fmt::format("precision \"{}\": {}", run.precision, usual));
  return usual;
}

}  // namespace

bool in_mxfp8(const PublishedRun& run) {
  return asserted(plain_text(run.precision), "mx ?fp8|fp8 mx|finer granularity").has_value();
}

nlohmann::ordered_json precision_of(const PublishedRun& run, std::vector<std::string>& assumed) {
  const std::string precision = lower_case(run.precision);
  nlohmann::ordered_json out = {{"weights", weights_of(run, assumed)}};
  // Megatron-Bridge's bf16_with_nvfp4_mixed (training/mixed_precision.py) leaves no layer in bf16.
  if (in_nvfp4(run)) out["matmul"] = "nvfp4";
  if (in_fp8(precision)) out["matmul"] = "fp8";
  if (in_fp8(precision) && mentions(precision, "rowwise")) out["scales"] = "row";
  if (const std::string narrow = narrow_weights_of(run); narrow != "none") {
    out["narrow_weights"] = narrow;
    if (!gathers_8_bits(run)) assumed.emplace_back("recipe: its weights are kept in 8 bits");
  }
  // NeMo-Framework-Launcher, conf/peft/llama/sft.yaml: distributed_fused_adam with dtype bf16, in
  // which Apex's DistributedFusedAdam keeps what it updates and its moments.
  if (tunes_by_launcher(run)) {
    out["master"] = out["moments"] = "bf16";
    out["split_master"] = false;
    assumed.emplace_back("recipe: its optimizer state is in bf16");
  }
  add_state(out, run, assumed);
  return out;
}

bool narrows_products(const PublishedRun& run) { return in_fp8(run.precision) || in_nvfp4(run); }

bool scales_by_blocks(const PublishedRun& run) {
  constexpr std::array<std::string_view, 4> kWords = {"block", "subchannel", "sub channel",
                                                      "fp8 sc"};
  const std::string precision = plain_text(run.precision);
  const bool said =
      std::ranges::any_of(kWords, [&](auto word) { return mentions(precision, word); });
  return in_fp8(precision) && !in_mxfp8(run) && (said || mentions(run.notes, "_FP8_SC_"));
}

// benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md, the run of torchtitan that says so.
bool scales_early(const PublishedRun& run) { return gathers_8_bits(run); }

}  // namespace plait
