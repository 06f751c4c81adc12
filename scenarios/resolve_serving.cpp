#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "scenarios/ampere.h"
#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/idle_fields.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

/// Fields of `requests` that this sort of arrivals does not look at.
void warn_of_idle(const Json* requests, const Load& load, Warnings& warnings) {
  struct Rule {
    const char* key;
    bool used;
  };
  const Rule rules[] = {{"rate_per_s", load.arrivals == Arrivals::kPoisson},
                        {"concurrency", load.arrivals == Arrivals::kClosed},
                        {"ramp", load.arrivals == Arrivals::kClosed},
                        {"trace", load.arrivals == Arrivals::kTrace},
                        {"count", load.arrivals != Arrivals::kTrace},
                        {"kinds", load.arrivals != Arrivals::kTrace}};
  for (const Rule& rule : rules) {
    if (requests == nullptr || requests->find(rule.key) == nullptr || rule.used) continue;
    warnings.push_back(
        no_effect(fmt::format("serving.requests.{}", rule.key), " with these arrivals"));
  }
}

/// The same of a kind, `n`-th of the list: what says more of prefixes and turns that there are none
/// of.
void warn_of_idle_in_kinds(const Json* requests, const Load& load, Warnings& warnings) {
  const Json* list = requests == nullptr ? nullptr : requests->find("kinds");
  if (list == nullptr || load.arrivals == Arrivals::kTrace) return;
  for (std::size_t n = 0; n < load.kinds.size(); ++n) {
    const RequestKind& k = load.kinds[n];
    const auto warn = [&](const char* key, bool used, const char* without) {
      if (used || list->children()[n]->find(key) == nullptr) return;
      warnings.push_back(no_effect(fmt::format("serving.requests.kinds.{}.{}", n, key),
                                   fmt::format(" without {}", without)));
    };
    warn("num_prefixes", k.prefix_tokens > 0, "prefix_tokens");
    warn("prefix_zipf", k.prefix_tokens > 0 && k.prefixes > 1, "several prefixes");
    warn("think_time", k.turns > 1, "turns");
  }
}

/// Fields of serving.layers that this dealing does not look at.
void warn_of_idle_layers(const LayerRule& rule, Warnings& warnings) {
  const bool counts = rule.dealing == Dealing::kGpuLayers;
  const bool fills = !counts && rule.dealing != Dealing::kEven;
  struct Rule {
    const char *key, *deals;
    bool written, used;
  };
  const Rule rules[] = {
      {"gpu_layers", "gpu_layers", rule.gpu_layers >= 0, counts},
      {"device_memory", "sequential or balanced", rule.device_memory.has_value(), fills},
      {"host_memory", "sequential or balanced", rule.host_memory.has_value(), fills}};
  for (const Rule& r : rules) {
    if (!r.written || r.used) continue;
    warnings.push_back(no_effect(fmt::format("serving.layers.{}", r.key),
                                 fmt::format(": serving.layers.deal is not {}", r.deals)));
  }
}

std::int64_t longest_request(const Load& load) {
  std::int64_t longest = 0;
  const std::vector<RequestKind> kinds =
      load.kinds.empty() ? std::vector<RequestKind>{RequestKind{}} : load.kinds;
  for (const RequestKind& k : kinds) {
    const auto most = [&k](std::int64_t mean) {  // that is drawn: serving/requests.cpp, length
      return std::llround(static_cast<double>(mean) * (1 + k.spread));
    };
    const std::int64_t turn = most(k.prompt_tokens) + most(k.output_tokens);
    longest = std::max(longest, k.prefix_tokens + k.turns * turn);
  }
  return longest;
}

void check(const Serving& s) {
  struct Layers {
    const char *products_key, *weights_key;
    std::optional<DType> products;
    WeightFormat weights;
  };
  const ServingPrecision& p = s.precision;
  for (const Layers& l :
       {Layers{"products", "weights", p.products, p.weights},
        Layers{"expert_products", "expert_weights", p.expert_products, p.experts}}) {
    if (!l.products || l.weights == WeightFormat::kPlain) continue;
    refuse_field(
        "S062",
        fmt::format("products in {} with weights in {}", name_of(*l.products), name_of(l.weights)),
        fmt::format("serving.{}", l.weights_key),
        fmt::format("{} or a format of weights, and the other plain", l.products_key),
        "remove one of the two", {fmt::format("serving.{}", l.products_key)});
  }
  if (s.load.arrivals == Arrivals::kTrace && s.load.trace.empty()) {
    refuse_field("S063", "arrivals as in a trace, and no trace", "serving.requests.arrivals",
                 "serving.requests.trace, the path of a file", "give the trace, or other arrivals");
  }
}

/// What else is written says which arrivals are meant.
void resolve_arrivals(const Json* requests, Load& load) {
  const auto has = [&](const char* key) {
    return requests != nullptr && requests->find(key) != nullptr;
  };
  if (has("arrivals")) return;
  if (has("trace")) {
    load.arrivals = Arrivals::kTrace;
  } else if (has("concurrency") && !has("rate_per_s")) {
    load.arrivals = Arrivals::kClosed;
  }
}

/// An empty list is no default.
void require_kinds(const Json* requests, const Load& load) {
  const bool written = requests != nullptr && requests->find("kinds") != nullptr;
  if (!written || !load.kinds.empty() || load.arrivals == Arrivals::kTrace) return;
  refuse_field("S195", "requests of no kind", "serving.requests.kinds",
               "at least one kind, with prompt_tokens and output_tokens",
               "write a kind, or remove serving.requests.kinds");
}

void require_limits(const Json& json, const Slo& slo) {
  if (json.find("slo") == nullptr || slo.any()) return;
  refuse_field("S183", "service level objectives without a limit", "serving.slo",
               "at least one of ttft, tpot and e2el", R"(write one, such as "ttft": "500 ms")");
}

}  // namespace

Serving resolve_serving(const Json& json, Serving s, const std::string& scenario_file,
                        Warnings& warnings) {
  if (json.find("kv_cache") == nullptr) s.precision.kv_cache = s.precision.activations;
  if (json.find("expert_weights") == nullptr) s.precision.experts = s.precision.weights;
  if (json.find("head_weights") == nullptr && is_mix(s.precision.weights))
    s.precision.head = WeightFormat::kQ6K;  // llama.cpp, src/llama-quant.cpp
  if (json.find("expert_products") == nullptr) s.precision.expert_products = s.precision.products;
  if (json.find("state_cache") == nullptr) s.precision.states = s.precision.activations;
  if (json.find_path("engine.kernels") == nullptr && s.layers.dealing == Dealing::kGpuLayers) {
    s.limits.engine = ServingEngine::kLlamaCpp;
  }
  resolve_arrivals(json.find("requests"), s.load);
  check(s);
  require_kinds(json.find("requests"), s.load);
  require_limits(json, s.slo);
  warn_of_idle(json.find("requests"), s.load, warnings);
  warn_of_idle_in_kinds(json.find("requests"), s.load, warnings);
  warn_of_idle_layers(s.layers, warnings);
  if (!s.load.trace.empty()) {
    s.load.trace = (std::filesystem::path(scenario_file).parent_path() / s.load.trace).string();
  }
  if (s.limits.max_context == 0 && s.load.arrivals != Arrivals::kTrace) {
    s.limits.max_context = longest_request(s.load);
  }
  return s;
}

/// What --dtype auto comes to, and what is refused: vllm/config/model.py, _resolve_auto_dtype, by
/// which weights in bf16 and in fp32 become the first type of vllm/platforms/cuda.py,
/// supported_dtypes: bf16 from compute capability 8.0 on, fp16 below; and
/// vllm/v1/worker/gpu_worker.py, _check_if_gpu_supports_dtype. Layers that are copied to devices
/// are no server's.
void resolve_types(const Json& serving, const Device& device, Serving& s, Warnings& warnings) {
  ServingPrecision& p = s.precision;
  const bool vllm = s.limits.engine == ServingEngine::kVllm && s.layers.dealing == Dealing::kEven;
  if (!vllm || !predates_ampere(device) || p.activations != DType::kBf16) return;
  if (serving.find("dtype") != nullptr) {
    warnings.push_back({"W014", fmt::format("vLLM does not start in bf16 on {}, which has no "
                                            "matrix units for it: set serving.dtype to \"fp16\"",
                                            device.name)});
    return;
  }
  p.activations = DType::kFp16;
  if (serving.find("kv_cache") == nullptr) p.kv_cache = p.activations;
  if (serving.find("state_cache") == nullptr) p.states = p.activations;
}

/// It takes what a device has free. What it is to find out by itself, layers or experts on devices,
/// it chooses so that 1,024 MiB stay free (--fit-target's default; tools/server/README.md at
/// 00dc8057, common/fit.cpp).
double llama_cpp_memory_share(const LayerRule& rule, const Device& device) {
  const bool fits =
      rule.host_experts < 0 || (rule.dealing == Dealing::kGpuLayers && rule.gpu_layers < 0);
  constexpr double kMargin = 1024.0 * 1024 * 1024, kLeast = 0.01;
  const auto memory = static_cast<double>(device.memory.value);
  return fits ? std::max(kLeast, 1 - kMargin / memory) : 1;
}

void resolve_llama_cpp(const Json& serving, const Device& device, Serving& s) {
  if (s.limits.engine != ServingEngine::kLlamaCpp) return;
  const auto states = [&](const char* path) { return serving.find_path(path) != nullptr; };
  if (!states("engine.gpu_memory_utilization"))
    s.limits.memory_utilization = llama_cpp_memory_share(s.layers, device);
  // The default is measured of vLLM's scheduler (plan/requests.h), which llama.cpp has not.
  if (!states("engine.step_overhead")) s.limits.step_overhead = Seconds();
}

void resolve_engine_kernels(const Json* kernels, const std::optional<HfQuantization>& checkpoint,
                            Scenario& out) {
  const auto states = [kernels](const char* key) {
    return kernels != nullptr && kernels->find(key) != nullptr;
  };
  if (!states("qkv") && out.serving->limits.engine == ServingEngine::kLlamaCpp)
    out.kernels.qkv = Fusion::kEager;
  const ServingPrecision& p = out.serving->precision;
  if (states("amax") || (p.products != DType::kFp8 && p.expert_products != DType::kFp8)) return;
  const CheckpointFormat* published = published_format(out.model.name);
  const bool blocks =
      checkpoint ? checkpoint->blocks : published != nullptr && published->name == "fp8";
  if (blocks) out.kernels.amax = Fusion::kBlocks;
}

void require_one_task(const Json& root) {
  const Json* serving = root.find("serving");
  const Json* workload = root.find("workload");
  for (const char* task : {"workload", "training"}) {
    if (serving == nullptr || root.find(task) == nullptr) continue;
    refuse_field("S064", "a scenario that both trains and serves", task,
                 "a workload (training) or serving, not both", "remove one of the two");
  }
  if (serving == nullptr && workload == nullptr) {
    refuse_missing(root, {{"workload", "an object: what is trained; or serving, what is served"}});
  }
}

Warnings idle_in_serving(const std::vector<std::string>& written) {
  Warnings warnings;
  for (const std::string& key : written) {
    static constexpr const char* kUsed[] = {"pp", "dp", "fsdp", "cp", "tp"};
    if (std::ranges::find(kUsed, key) != std::end(kUsed)) continue;
    warnings.push_back(no_effect("strategy." + key, ": serving runs forward passes only"));
  }
  return warnings;
}

}  // namespace plait
