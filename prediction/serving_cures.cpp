#include "prediction/serving_cures.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "core/error.h"
#include "prediction/deployment.h"

namespace plait {
namespace {

class ServingTrials {
 public:
  using Change = std::function<void(Scenario&, Serving&)>;

  ServingTrials(const Scenario& scenario, const Serving& serving)
      : scenario_(scenario), serving_(serving) {}

  /// Keeps the change where it fits. False: it does not, or cannot be planned.
  bool keep_if_it_fits(const std::string& sets, const Change& change) {
    Scenario s = scenario_;
    Serving serving = serving_;
    change(s, serving);
    s.serving = serving;
    try {
      ServingReport report;
      Deployment(s, serving).describe(report);
      if (!report.fits) return false;
    } catch (const InputError&) {
      return false;
    }
    found_.push_back(sets);
    return true;
  }
  std::vector<std::string> found() && { return std::move(found_); }

 private:
  const Scenario& scenario_;
  const Serving& serving_;
  std::vector<std::string> found_;
};

void try_limits(ServingTrials& trials, const EngineLimits& limits) {
  constexpr double kMore = 0.95;         // of the memory: what vLLM's users go up to
  constexpr std::int64_t kFewest = 512;  // tokens of a step
  if (limits.memory_utilization < kMore) {
    trials.keep_if_it_fits(fmt::format("serving.engine.gpu_memory_utilization={}", kMore),
                           [](Scenario&, Serving& s) { s.limits.memory_utilization = kMore; });
  }
  for (std::int64_t n = limits.max_tokens / 2; limits.chunked_prefill && n >= kFewest; n /= 2) {
    const auto fewer = [n](Scenario&, Serving& s) { s.limits.max_tokens = n; };
    if (trials.keep_if_it_fits(fmt::format("serving.engine.max_num_batched_tokens={}", n), fewer)) {
      return;
    }
  }
}

void try_layers(ServingTrials& trials, const Serving& serving, const Model& model) {
  if (serving.layers.dealing == Dealing::kGpuLayers && serving.layers.gpu_layers >= 0) {
    trials.keep_if_it_fits("serving.layers.gpu_layers=-1",
                           [](Scenario&, Serving& s) { s.layers.gpu_layers = -1; });
  }
  if (serving.limits.engine == ServingEngine::kLlamaCpp && model.experts > 0) {
    trials.keep_if_it_fits("serving.layers.host_experts=-1",
                           [](Scenario&, Serving& s) { s.layers.host_experts = -1; });
  }
}

/// Whom weights are shared among, on the devices that there are.
void try_sharing(ServingTrials& trials, const Scenario& scenario, const Serving& serving) {
  const std::int64_t dp = scenario.strategy.mesh[Axis::kDp];
  if (dp == 1) return;
  if (scenario.model.experts > 0 && !serving.expert_parallel && !serving.divide_experts) {
    trials.keep_if_it_fits("serving.expert_parallel=true",
                           [](Scenario&, Serving& s) { s.expert_parallel = true; });
    trials.keep_if_it_fits("serving.divide_experts=true",
                           [](Scenario&, Serving& s) { s.divide_experts = true; });
  }
  for (const auto& [axis, name] : {std::pair(Axis::kTp, "tp"), std::pair(Axis::kPp, "pp")}) {
    for (std::int64_t by = 2; by <= dp; by *= 2) {
      if (dp % by != 0) continue;
      const auto share = [axis = axis, by](Scenario& s, Serving&) {
        s.strategy.mesh[axis] *= by, s.strategy.mesh[Axis::kDp] /= by;
      };
      const std::string sets = fmt::format("strategy.{}={} with strategy.dp={}", name,
                                           scenario.strategy.mesh[axis] * by, dp / by);
      if (trials.keep_if_it_fits(sets, share)) break;
    }
  }
}

/// What changes the answers that a model gives comes last.
void try_types(ServingTrials& trials, const Serving& serving) {
  const ServingPrecision& p = serving.precision;
  const bool llama_cpp = serving.limits.engine == ServingEngine::kLlamaCpp;
  if (!llama_cpp && size_of(p.kv_cache) > size_of(DType::kFp8)) {
    trials.keep_if_it_fits("serving.kv_cache=fp8",
                           [](Scenario&, Serving& s) { s.precision.kv_cache = DType::kFp8; });
  }
  const bool plain = p.weights == WeightFormat::kPlain && p.experts == WeightFormat::kPlain &&
                     !p.products && !p.expert_products;
  if (!plain) return;
  using F = WeightFormat;
  const std::array formats =
      llama_cpp ? std::array{F::kQ8_0, F::kQ4KM} : std::array{F::kFp8, F::kInt4};
  for (const F format : formats) {
    const auto narrower = [format](Scenario&, Serving& s) {
      s.precision.weights = s.precision.experts = format;
      if (is_mix(format)) s.precision.head = F::kQ6K;
    };
    if (trials.keep_if_it_fits(fmt::format("serving.weights={}", name_of(format)), narrower))
      return;
  }
}

}  // namespace

std::vector<std::string> serving_cures(const Scenario& scenario, const Serving& serving) {
  if (serving.disaggregation.any()) return {};
  ServingTrials trials(scenario, serving);
  try_limits(trials, serving.limits);
  try_layers(trials, serving, scenario.model);
  try_sharing(trials, scenario, serving);
  try_types(trials, serving);
  return std::move(trials).found();
}

}  // namespace plait
