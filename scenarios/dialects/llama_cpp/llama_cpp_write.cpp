#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/refusal.h"
#include "scenarios/dialects/llama_cpp/llama_cpp.h"
#include "scenarios/resolve.h"

namespace plait::llama_cpp {
namespace {

/// "" where the cache has no such type. q8_0: 34 bytes for 32 numbers (ggml-common.h,
/// block_q8_0), the nearest to 8 bits.
std::string cache_type(DType type) {
  switch (type) {
    case DType::kBf16: return "bf16";
    case DType::kFp16: return "f16";
    case DType::kFp32: return "f32";
    case DType::kFp8: return "q8_0";
    default: return "";
  }
}

/// Layers and experts on devices, the rest on the processor. What fits: the fit that `auto` asks
/// for leaves experts off the devices before whole layers (llama.cpp's common/fit.cpp).
void write_layers(ExportDraft& d, const LayerRule& rule) {
  const bool even = rule.dealing == Dealing::kEven && rule.host_experts >= 0;
  const bool fits = rule.gpu_layers < 0 || rule.host_experts < 0;
  const std::string some = fits ? "auto" : std::to_string(rule.gpu_layers);
  d.set("--n-gpu-layers", even ? "all" : some);
  d.say({"serving.layers.deal"});
  if (!even || rule.gpu_layers < 0) d.say({"serving.layers.gpu_layers"});
  if (rule.host_experts > 0) d.copy("--n-cpu-moe", "serving.layers.host_experts");
  if (rule.host_experts < 0) d.say({"serving.layers.host_experts"});
  if (rule.pinned) d.set("--no-mmap");
  d.say({"serving.layers.pinned"});
}

/// Devices of equal shares, but where --n-gpu-layers auto is to work out the shares too: given ones
/// make it put all layers on devices (llama.cpp's common/fit.cpp).
void write_split(ExportDraft& d, const char* mode, std::int64_t devices, bool shares) {
  d.set("--split-mode", mode);
  if (!shares) return;
  const std::vector<int> ones(static_cast<std::size_t>(devices), 1);
  d.set("--tensor-split", fmt::format("{}", fmt::join(ones, ",")));
}

/// Which devices have what: layers over pp, rows of matrices over tp; `tensor`, matrices and cache
/// over tp with reductions in every layer, needs all layers on devices and fused attention.
void write_devices(ExportDraft& d, const Serving& s) {
  const Mesh& mesh = d.scenario.strategy.mesh;
  const std::int64_t pp = mesh[Axis::kPp], tp = mesh[Axis::kTp];
  const std::int64_t devices = d.scenario.cluster.world_size();
  const bool shares = s.layers.host_experts >= 0 &&
                      (s.layers.dealing == Dealing::kEven || s.layers.gpu_layers >= 0);
  const bool whole = !s.layers.leaves_devices() && s.precision.fused_attention;
  if (s.layers.split == LayerSplit::kRow) {
    write_split(d, "row", tp, true);
    d.say({"serving.layers.split", "strategy.tp", "strategy.pp"});
  } else if (tp > 1 && pp == 1 && whole) {
    write_split(d, "tensor", tp, true);
    d.set("--fit", "off");
    d.say({"strategy.tp", "strategy.pp"});
  } else if (pp > 1) {
    write_split(d, "layer", pp, shares);
    if (shares || pp == devices) d.say({"strategy.pp"});
  } else {
    if (devices > 1) d.set("--split-mode", "none");
    d.say({"strategy.pp"});
  }
  if (tp == 1) d.say({"strategy.tp"});
}

void write_attention(ExportDraft& d, const Serving& s) {
  d.set("--flash-attn", s.precision.fused_attention ? "on" : "off");
  if (s.layers.cache_on_host) d.set("--no-kv-offload");
  d.say({"serving.flash_attention", "serving.layers.cache_on_host"});
  const std::string type = cache_type(s.precision.kv_cache);
  if (type.empty()) return;
  d.set("--cache-type-k", type);
  d.set("--cache-type-v", type);
  d.say({"serving.kv_cache"});
}

/// A context is all slots' together: of equal parts, or one that they share.
void write_context(ExportDraft& d, const EngineLimits& limits) {
  const bool pool = limits.cache_tokens > 0;
  if (!pool && limits.max_context == 0) return;
  const std::int64_t tokens =
      pool ? limits.cache_tokens : limits.max_context * limits.max_sequences;
  const std::int64_t part = tokens / limits.max_sequences;
  d.set("--ctx-size", tokens);
  const bool shared = limits.max_context > part;
  if (shared) d.set("--kv-unified");
  if (pool) d.say({"serving.engine.kv_cache_tokens"});
  if (limits.max_context == (shared ? tokens : part)) d.say({"serving.engine.max_model_len"});
}

/// A batch is computed in micro-batches, each of which reads the weights: both are a step's tokens.
void write_batches(ExportDraft& d, const EngineLimits& limits) {
  write_context(d, limits);
  d.copy("--parallel", "serving.engine.max_num_seqs");
  d.copy("--batch-size", "serving.engine.max_num_batched_tokens");
  d.copy("--ubatch-size", "serving.engine.max_num_batched_tokens");
  d.set(limits.prefix_caching ? "--cache-prompt" : "--no-cache-prompt");
  if (limits.prefix_caching) d.say({"serving.engine.enable_prefix_caching"});
}

std::string training_dialects() {
  std::vector<std::string_view> names;
  for (const DialectRow& row : dialects()) {
    if (row.trains && row.writes()) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void say_engine(ExportDraft& d, const Serving& s) {
  if (s.limits.engine != ServingEngine::kLlamaCpp) return;
  d.say({"serving.engine.kernels"});
  if (d.scenario.kernels.qkv == Fusion::kEager) d.say({"kernels.qkv"});
  const double usual = llama_cpp_memory_share(s.layers, d.scenario.cluster.device);
  if (s.limits.memory_utilization == usual) d.say({"serving.engine.gpu_memory_utilization"});
  if (s.limits.step_overhead.value == 0) d.say({"serving.engine.step_overhead"});
}

const Serving& served(const Scenario& scenario, std::string_view program) {
  if (!scenario.serving) {
    throw locate(refusal("D009", fmt::format("{} trains nothing", program), "workload",
                         "a scenario with a section serving",
                         "choose the dialect of a program that trains: " + training_dialects()),
                 scenario);
  }
  const Dealing dealing = scenario.serving->layers.dealing;
  if (dealing != Dealing::kEven && dealing != Dealing::kGpuLayers) {
    throw refusal("D009", fmt::format("{} copies no weights to devices while it runs", program),
                  "serving.layers.deal",
                  "gpu_layers, where the processor computes the other layers, or even",
                  "--set serving.layers.deal=gpu_layers");
  }
  return *scenario.serving;
}

void write(ExportDraft& d) {
  const Serving& serving = served(d.scenario, "llama.cpp");
  d.set("--model", "\"$MODEL\"");
  write_layers(d, serving.layers);
  write_devices(d, serving);
  write_attention(d, serving);
  write_batches(d, serving.limits);
  say_engine(d, serving);
}

}  // namespace plait::llama_cpp
