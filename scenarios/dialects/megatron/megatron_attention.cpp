// --attention-backend: which of Transformer Engine's kernels attention runs on. `flash` is
// FlashAttention, `fused` cuDNN's, `unfused` one kernel behind the other, and `auto` whichever of
// them does what is asked. What each does not do: get_attention_backend of Transformer Engine's
// transformer_engine/pytorch/attention/dot_product_attention/utils.py.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "plan/refusal.h"
#include "scenarios/ampere.h"
#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/shell/written_settings.h"

namespace plait::megatron {
namespace {

constexpr const char *kAttentionBackend = "--attention-backend", *kFlash = "--use-flash-attn",
                     *kLayers = "--transformer-impl";

/// Options of 2020 to 2022, when layers were Megatron-LM's own where nothing was said
/// (megatron/arguments.py at commit 00129014 has them, and no --transformer-impl).
constexpr const char* kOfOldVersions[] = {"--DDP-impl", "--activations-checkpoint-method",
                                          "--checkpoint-activations"};

/// Nothing where there is none.
const char* option_of_old_version(const Arguments& args) {
  const auto* found =
      std::ranges::find_if(kOfOldVersions, [&](const char* name) { return args.has(name); });
  return found == std::end(kOfOldVersions) ? nullptr : *found;
}

/// Own layers fuse attention with --use-flash-attn alone; --attention-backend is Transformer
/// Engine's (megatron/legacy/model/transformer.py; megatron/core/transformer/
/// dot_product_attention.py).
bool fuses_own(Arguments& args, Imported& out) {
  const bool fused = args.flag(kFlash);
  const auto warn = [&](const std::string& what) { out.warnings.push_back({"W008", what}); };
  if (!args.has(kLayers) && !fused) {
    warn(fmt::format("attention is read as not fused, as it was by default when there was {}",
                     option_of_old_version(args)));
  }
  const auto backend = args.text(kAttentionBackend).value_or("auto");
  if (!fused && (backend == "flash" || backend == "fused")) {
    warn(fmt::format("{} {} changes nothing with {} local: attention is not fused",
                     kAttentionBackend, backend, kLayers));
  }
  return fused;
}

/// Both fused kernels are of 16 bits, and of devices from compute capability 8.0 on.
bool can_fuse(const Scenario& s) {
  return !predates_ampere(s.cluster.device) && size_of(s.workload.precision.weights) == 2;
}

/// D009: the one that is not fused has no context parallelism.
void require_fused(const Scenario& s) {
  const bool narrow = size_of(s.workload.precision.weights) == 2;
  throw locate(refusal("D009",
                       narrow ? "Megatron-LM has no context parallelism on devices of compute "
                                "capability below 8.0"
                              : "Megatron-LM has no context parallelism in fp32",
                       narrow ? "strategy.cp" : "workload.precision.weights",
                       narrow ? "cp = 1, or another device" : "bf16 or fp16, or cp = 1",
                       "change it: attention that is not fused sees one rank's tokens alone"),
               s);
}

/// FlashAttention-2 wants values as wide as keys, which those of latents need not be.
std::string fused_backend(const Scenario& s) {
  if (s.kernels.attention == FlashKernel::kCudnn) return "fused";
  const Model& m = s.model;
  const bool wide = m.v_head_dim > 0 && m.v_head_dim != m.head_dim;
  return wide ? "auto" : "flash";
}

}  // namespace

void write_attention(ExportDraft& d) {
  const Scenario& s = d.scenario;
  const bool wanted = s.workload.flash_attention, can = can_fuse(s);
  const bool several = s.strategy.mesh.size_of(kContextAxes) > 1;
  if (several && !can) require_fused(s);
  const bool fused = several || (wanted && can);
  const std::string backend = fused ? fused_backend(s) : "unfused";
  d.set(kAttentionBackend, backend);
  if (backend == "fused") d.say({"kernels.attention"});
  if (fused == wanted) d.say({"workload.flash_attention"});
  if (fused != wanted) d.contradict("workload.flash_attention");
  const bool own_softmax = s.kernels.softmax == SoftmaxKernel::kMegatron;
  if (fused || own_softmax) d.say({"kernels.softmax"});
}

namespace {

/// What is allowed decides where the option leaves it open: it sets these variables itself
/// (megatron/training/arguments.py of 2025, validate_args; transformer_config.py, AttnBackend).
std::optional<std::string> backend_of(Arguments& args, const AllowedKernels& allowed) {
  const auto named = args.one_of(kAttentionBackend, {"flash", "fused", "unfused", "local", "auto"});
  if (named && *named != "auto") return named;
  if (allowed.flash && allowed.fused) return named;
  return allowed.flash ? "flash" : allowed.fused ? "fused" : "unfused";
}

}  // namespace

AllowedKernels allowed_kernels(const std::string& script) {
  const auto is_off = [&](const char* name) { return filled_in(script, name) == "0"; };
  return {!is_off("$NVTE_FLASH_ATTN"), !is_off("$NVTE_FUSED_ATTN")};
}

void read_attention(Arguments& args, Imported& out, const Fork& fork,
                    const AllowedKernels& allowed) {
  const auto backend = backend_of(args, allowed);
  const bool own = !fork.deepspeed && has_own_layers(args, fork);
  const bool slow = backend == "unfused" || backend == "local" ||
                    (fork.deepspeed && !fork.flash_attention) || (own && !fuses_own(args, out));
  if (slow) args.exclusive(kFlash, kAttentionBackend);
  if (!slow) {  // as is planned anyway; of softmax there is no kernel then
    args.flag(kFlash);
    args.flag("--no-masked-softmax-fusion");
  }
  out.give("workload.flash_attention", slow ? "false" : "true", args.line(kAttentionBackend));
  if (backend == "fused" && !own) {
    out.give("kernels.attention", R"("cudnn")", args.line(kAttentionBackend));
  }
}

bool has_own_layers(Arguments& args, const Fork& fork) {
  const Arguments::Option* layers = args.find(kLayers);
  const bool said = layers != nullptr && !layers->values.empty();
  if (fork.deepspeed) return true;
  return said ? layers->values.front().text == "local" : option_of_old_version(args) != nullptr;
}

}  // namespace plait::megatron
