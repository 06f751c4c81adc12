#include "scenarios/published/attention_of.h"

#include <fmt/format.h>

#include "core/spelling.h"
#include "scenarios/published/phrases.h"
#include "scenarios/published/scenario_of.h"

namespace plait {
namespace {

/// What kernels are called, in small letters; the first that a text asserts is meant.
struct KernelWords {
  const char* pattern;
  bool flash;
  const char* kernel;  // of kernels.attention; "": the profile's
};
constexpr KernelWords kKernels[] = {
    {R"((?:\bflash[ _-]?att(?:entio)?n|\bflash|\bfa)[ _-]?v?1\b)", true, "flash1"},
    {R"((?:\bflash[ _-]?att(?:entio)?n|\bflash|\bfa)[ _-]?v?2\b)", true, "flash2"},
    // What "newest" stands for on Hopper.
    {R"((?:\bflash[ _-]?att(?:entio)?n|\bflash|\bfa)[ _-]?v?3\b)", true, "newest"},
    {R"((?:\bflash[ _-]?att(?:entio)?n|\bflash|\bfa)[ _-]?v?4\b)", true, "flash4"},
    {R"(\bflash)", true, ""},
    {R"(\bcudnn)", true, "cudnn"},
    {R"(\bsdpa\b|\bscaled[ _-]?dot[ _-]?product)", true, "sdpa"},
    {R"(\bnewest\b)", true, "newest"},
    // Which of cuDNN's and FlashAttention it takes is its own choice.
    {R"(\btransformer[ -]?engine\b|\bte\b|\bdotproductattention\b)", true, ""},
    // CUTLASS's kernel of the time of the first FlashAttention.
    {R"(\bxformers\b|\bmem(?:ory)?[ _-]?eff(?:icient)?\b)", true, "flash1"},
    {R"(\b(?:eager|math|naive|unfused|torch|pytorch|fused|local)\b)", false, ""},
};

/// Megatron-LM's AttnBackend (megatron/core/transformer/enums.py); "fused" is cuDNN's.
AttentionWords by_arguments(const PublishedRun& run) {
  if (mentions(run.arguments, "--attention-backend flash")) return {.flash = true};
  if (mentions(run.arguments, "--attention-backend fused"))
    return {.flash = true, .kernel = "cudnn"};
  if (mentions(run.arguments, "--attention-backend unfused")) return {.flash = false};
  // Megatron-Core's own layers, without Transformer Engine, multiply scores and values apart.
  if (mentions(run.notes, "transformer_impl=local")) return {.flash = false};
  return {};
}

AttentionWords by_kernel(const std::string& words) {
  for (const KernelWords& k : kKernels) {
    if (!asserted(words, k.pattern)) continue;
    return {.flash = k.flash, .kernel = k.kernel, .eager_softmax = words == "torch"};
  }
  for (const KernelWords& k : kKernels) {  // "no flash attention"
    if (k.flash && said_in(words, k.pattern)) return {.flash = false};
  }
  return {};
}

std::string told_of(const AttentionWords& a) {
  if (!a.flash) return "as the profile has it";
  if (!*a.flash) return a.eager_softmax ? "op by op" : "scores and softmax apart";
  return a.kernel.empty() ? "fused" : "fused, " + a.kernel;
}

/// PyTorch's scaled_dot_product_attention was left to FlashAttention-2 on Hopper then
/// (topologies/catalogue/frameworks/torchtitan.json), as FlashAttention's own package was by those
/// who call that.
bool is_pytorchs_before_2026(const PublishedRun& run, const std::string& framework) {
  const int year = year_of(run);
  return (framework == "pytorch" || framework == "transformers") && year >= 2023 && year <= 2025;
}

}  // namespace

AttentionWords attention_of(const PublishedRun& run, const std::string& framework) {
  AttentionWords out = by_kernel(lower_case(run.kernel));
  if (!out.flash) {
    AttentionWords argued = by_arguments(run);
    if (argued.flash) return argued;
  }
  if (out.kernel.empty() && out.flash.value_or(true) && is_pytorchs_before_2026(run, framework)) {
    out.kernel = "sdpa";
    out.told = fmt::format("attention: PyTorch's of {}", year_of(run));
  }
  if (!run.kernel.empty())
    out.told = fmt::format("kernel \"{}\": attention {}", run.kernel, told_of(out));
  return out;
}

}  // namespace plait
