#include "scenarios/published/recipe_of.h"

#include <algorithm>
#include <array>
#include <regex>

#include "core/spelling.h"
#include "scenarios/published/model_names.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/precision_of.h"

namespace plait {
namespace {

/// Year and month of the release that the source names, as one number: 2606. 0: none.
int release_of(const std::string& source) {
  static const std::regex kRelease(R"(release (\d\d)\.(\d\d))");
  std::smatch found;
  return std::regex_search(source, found, kRelease) ? std::stoi(found[1].str() + found[2].str())
                                                    : 0;
}

/// From release 26.06 on, recipes for mixtures in MXFP8 on these capture the whole step, hide
/// exchanges and have one kernel for the experts' products (Megatron-Bridge,
/// scripts/performance/configs/{qwen,gpt_oss,deepseek,kimi}/*_workload_base_configs.py: of Qwen3
/// 30B and GPT OSS on GB200, DeepSeek-V3 on GB300, Kimi K2 on B300).
constexpr int kFirstRelease = 2606;
constexpr std::array<std::string_view, 3> kGpus = {"GB200", "GB300", "B300"};

bool captures_by_release(const PublishedRun& run) {
  const bool gpu = std::ranges::any_of(kGpus, [&](auto name) { return run.gpu.starts_with(name); });
  return run.model.experts > 0 && gpu && in_mxfp8(run) && release_of(run.source) >= kFirstRelease;
}

/// Since January 2026 Transformer Engine's linear layers take the host about as long as PyTorch's
/// (NVIDIA/TransformerEngine issue 2126); release 26.02 is the first that came later.
constexpr int kQuickLinear = 2602;

/// NeMo Framework 25.11 has CUDA 13.0.1, 25.09 12.9.1 (Megatron-Bridge,
/// docs/releases/software-versions.md).
constexpr int kCuda13 = 2511;

/// GPT OSS 120B computes norms and its experts' activations again in the recipes of all releases
/// (gpt_oss/workload_base_configs.py, later gpt_oss_workload_base_configs.py), but for those that
/// capture the step and for GB300 and B300, which have the memory.
bool recomputes_by_release(const PublishedRun& run) {
  const bool roomy = run.gpu.starts_with("GB300") || run.gpu.starts_with("B300");
  return run.recompute.empty() && is_called(run.model.name, "gpt oss") && !roomy;
}

/// Layers of Llama 3 70B whose activations Megatron-FSDP's recipes keep on the host
/// (cpu_offloading_num_layers in llama3_70b_llm_pretrain.py of release 25.09 and
/// llama3/workload_base_configs.py of 25.11). 0: no such recipe.
int offloaded_by_release(const PublishedRun& run) {
  const bool silent = run.recompute.empty() && run.layout.offload.empty();
  const bool sharded = run.layout.zero_stage.value_or(0) == 3;
  if (!silent || !sharded || !is_called(run.model.name, "llama3 70b")) return 0;
  const bool fp8 = mentions(lower_case(run.precision), "fp8");
  if (run.gpu.starts_with("GB200")) return fp8 ? 40 : 20;
  if (run.gpu.starts_with("GB300")) return fp8 ? 20 : 30;
  return 0;
}

void complete_by_release(const PublishedRun& run, Recipe& recipe) {
  if (captures_by_release(run)) {
    recipe.whole_step_graph = recipe.hides_exchanges = true;
    recipe.recompute = "none";
    recipe.by_release = "a graph of the whole step, hidden exchanges";
  } else if (recomputes_by_release(run)) {
    recipe.recompute = "selective: layernorm/moe_act";
    recipe.by_release = "norms and activations of experts computed again";
  } else if (const int layers = offloaded_by_release(run)) {
    recipe.recompute = "none";
    recipe.offload = "activation offload " + std::to_string(layers) + " layers";
    recipe.by_release = "activations of " + std::to_string(layers) + " layers on the host";
  }
}

void read_overlaps(const PublishedRun& run, Recipe& recipe) {
  recipe.overlaps_gradients = says(run, Phrase::kOverlapsGradients);
  recipe.overlaps_gathers = says(run, Phrase::kOverlapsGathers);
  recipe.overlaps_tensor = says(run, Phrase::kOverlapsTensor);
}

/// "dispatcher=allgather"; Megatron-LM's own tests quote None where their arguments leave the
/// default, which is that (megatron/training/arguments.py, --moe-token-dispatcher-type).
bool gathers_tokens(const PublishedRun& run) {
  const std::string notes = lower_case(run.notes);
  const bool silent = mentions(notes, "dispatcher=none") && mentions(run.source, "golden");
  return run.model.experts > 0 && (silent || mentions(notes, "dispatcher=allgather"));
}

/// FlagPerf's Baichuan2 13B (training/nvidia/baichuan2_13b-deepspeed/README.md and
/// training/benchmarks/baichuan2_13b/deepspeed/ds_config.json): "ZeRO-DP O1", gradient
/// checkpointing, and a model file that multiplies scores and values apart. Its Mixtral
/// (training/benchmarks/mixtral_8x7B/megatron/megatron_main.sh, of Megatron-Core 0.6) says nothing
/// of how tokens get to experts, which is Megatron-LM's default; its page names FlashAttention 2.
/// That script and Qwen1.5-MoE's (training/benchmarks/qwen1.5_MoE/megatron/megatron_pai_main.sh)
/// have --no-rope-fusion.
void complete_by_case(const PublishedRun& run, Recipe& recipe) {
  if (mentions(run.source, "mixtral_8x7B-megatron")) {
    recipe.gathers_tokens = recipe.rotates_apart = true;
    recipe.kernel = "flash_attentionv2";
    recipe.by_release = "tokens gathered to experts, FlashAttention-2, no fused rotary positions";
  }
  if (mentions(run.source, "qwen1.5_MoE-megatron")) {
    recipe.rotates_apart = true;
    recipe.by_release = "no fused rotary positions";
  }
  if (!mentions(run.source, "baichuan2_13b-deepspeed")) return;
  recipe.recompute = "full";
  recipe.kernel = "torch";
  recipe.zero_stage = 1;
  recipe.by_release = "ZeRO stage 1, full recomputation, attention op by op";
}

/// DGX Cloud's scripts of NeMo (NVIDIA/dgxc-benchmarking): gpt3_175b_hydra.yaml of all releases has
/// both dropouts; nemotron/configure.sh of v24.11.1 sets NVTE_FUSED_ATTN 0 for 340B, and 1 for 15B.
void complete_by_script(const PublishedRun& run, Recipe& recipe) {
  if (mentions(run.source, "nemo_megatron/README_175b.md")) {
    recipe.dropout = 0.1;
    recipe.by_release = "dropout 0.1";
  }
  if (mentions(run.source, "nemotron/README_340b.md @v24.11.1")) {
    recipe.kernel = "flash_attentionv2";
    recipe.by_release = "FlashAttention-2";
  }
}

}  // namespace

Recipe recipe_of(const PublishedRun& run) {
  if (mentions(run.framework, "JAX")) return jax_recipe(run);
  const std::string notes = lower_case(run.notes);
  Recipe out;
  out.whole_step_graph = says(run, Phrase::kWholeStepGraph);
  out.hides_exchanges = says(run, Phrase::kHidesExchanges);
  read_overlaps(run, out);
  out.gathers_tokens = gathers_tokens(run);
  const bool quoted = mentions(notes, "recipe ");
  out.quick_linear = release_of(run.source) >= kQuickLinear;
  out.cublas_13 = release_of(run.source) >= kCuda13;
  if (!quoted && mentions(run.source, "Megatron-Bridge")) complete_by_release(run, out);
  if (mentions(run.source, "FlagPerf")) complete_by_case(run, out);
  if (mentions(run.source, "dgxc-benchmarking")) complete_by_script(run, out);
  if (mentions(run.source, "BigScience")) complete_by_bigscience(run, out);
  return out;
}

}  // namespace plait
