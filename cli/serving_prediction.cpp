#include "cli/serving_prediction.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/prediction.h"
#include "core/json.h"
#include "serving/capacity.h"
#include "serving/drafter.h"
#include "serving/layer_maps.h"
#include "serving/require_described.h"

namespace plait {
namespace {

ServedModel served_model(const Scenario& s, const EngineLimits& limits) {
  ServedModel served;
  served.model = s.model;
  served.precision = s.serving->precision;
  served.layout.mesh = s.strategy.mesh;
  served.cluster = s.cluster;
  served.costs = costs_of(s);
  const bool vllm = s.serving->limits.engine == ServingEngine::kVllm;
  served.precision.fused_elementwise = !vllm;
  served.layout.expert_parallel = s.serving->expert_parallel;
  if (s.serving->limits.own_all_reduce) {
    served.costs.engine_all_reduce = vllm ? EngineReduce::kVllm : EngineReduce::kTensorRtLlm;
  }
  served.placement = s.placement;
  served.graphs = s.serving->limits.graphs;
  served.layout.map = deal_layers(served, s.serving->layers, limits, s.memory);
  return served;
}

std::string layout_words(const Mesh& mesh) {
  std::string out;
  for (const Axis a : {Axis::kTp, Axis::kPp, Axis::kDp}) {
    if (mesh[a] > 1) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(a), mesh[a]);
  }
  return out.empty() ? "one device" : out;
}

std::vector<Request> requests_of(Load& load) {
  if (load.arrivals != Arrivals::kTrace) return draw_requests(load);
  return read_trace(read_text_file(load.trace), load.trace, load);
}

/// Of a trace the longest sequence is known only now.
void require_context(const std::vector<Request>& requests, EngineLimits& limits) {
  if (limits.max_context > 0) return;
  for (const Request& r : requests) {
    limits.max_context = std::max(limits.max_context, r.prompt + r.output);
  }
}

/// Counts the tokens that steps generate, guesses that are wrong among them.
class TokenCount {
 public:
  TokenCount(const std::vector<Request>& requests, ProgressLine& progress) : progress_(progress) {
    for (const Request& r : requests) all_ += r.output;
  }
  void add(std::int64_t tokens) {
    done_ += tokens;
    if (++steps_ % kSteps == 0) {
      progress_(static_cast<std::size_t>(std::min(done_, all_)), static_cast<std::size_t>(all_),
                "tokens");
    }
  }

 private:
  static constexpr int kSteps = 256;  // so that counting costs nothing
  ProgressLine& progress_;
  std::int64_t done_ = 0, all_ = 0, steps_ = 0;
};

ServingReport served(const Scenario& s, const RunFacts& facts, ProgressLine& progress) {
  Serving serving = *s.serving;
  require_described(s.model, serving, s.strategy.mesh);
  const std::vector<Request> requests = requests_of(serving.load);
  require_context(requests, serving.limits);
  const ServedModel model = served_model(s, serving.limits);
  const std::int64_t replicas = s.strategy.mesh[Axis::kDp];
  ServingReport r;
  r.run = facts;
  r.model = s.model.name;
  r.cluster = cluster_text(s.cluster);
  r.layout = layout_words(s.strategy.mesh);
  r.devices = s.cluster.world_size();
  r.replicas = replicas;
  serving.limits = with_blocks_of_states(serving.limits, model);
  r.limits = serving.limits;
  const std::optional<Drafter> drafter = drafter_of(model, serving.speculation);
  r.speculation = serving.speculation;
  r.capacity = cache_capacity(model, serving.limits, s.memory, drafter);
  r.fits = r.capacity.holds(serving.limits);
  if (!r.fits) return r;
  StepCosts costs(model);
  std::optional<DraftedCosts> drafted;
  if (drafter) drafted.emplace(model, *drafter, serving.speculation.tokens);
  ServerOptions options;
  options.limits = serving.limits;
  options.blocks = r.capacity.blocks, options.kept = r.capacity.kept;
  options.guesses = guesses_of(serving.speculation, serving.load.seed);
  options.replicas = replicas;
  options.batches_in_flight = s.strategy.mesh[Axis::kPp];
  TokenCount count(requests, progress);
  r.service = serve(requests, serving.load, options, [&](const Step& step) -> const StepTime& {
    count.add(step.sampled);
    return drafted ? (*drafted)(step) : costs(step);
  });
  r.kinds = kinds_of(serving.load);
  r.summary = summarize(r.service, requests, r.kinds, r.devices, replicas);
  r.requests = requests;
  r.shapes = drafted ? drafted->shapes() : costs.shapes();
  return r;
}

}  // namespace

ServingReport predict_serving(const Scenario& scenario, const RunFacts& facts,
                              ProgressLine& progress) {
  require_serving(scenario);
  try {
    return served(scenario, facts, progress);
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

}  // namespace plait
