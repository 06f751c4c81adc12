#include "cli/serving_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/prediction.h"
#include "core/json.h"
#include "serving/layer_maps.h"
#include "serving/max_rate.h"
#include "serving/priced_pool.h"
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

/// A load served by the pool, as often as it is asked for: what steps take is known from then on.
struct Deployment {
  PricedPool pool;
  Service serve(const std::vector<Request>& requests, const Load& load,
                TokenCount* count = nullptr) {
    return plait::serve(requests, load, pool.options(load.seed),
                        [&](const Step& step) -> const StepTime& {
                          if (count != nullptr) count->add(step.sampled);
                          return pool.price(step);
                        });
  }
};

[[noreturn]] void refuse_rate(const char* problem, const char* path, const char* cure) {
  throw InputError({"S184",
                    problem,
                    {"", 0, 0, path},
                    "a rate of arrivals, and limits that a share of requests is to keep",
                    cure});
}

void require_rate(const Serving& s) {
  if (s.load.arrivals != Arrivals::kPoisson) {
    refuse_rate("the highest rate of requests that have no rate", "serving.requests.arrivals",
                R"(set serving.requests.arrivals to "poisson", or leave out --max-rate)");
  }
  if (s.slo.any() && s.slo.attainment > 0) return;
  refuse_rate(
      "the highest rate of requests that may take any time", "serving.slo",
      R"(say what is good: --set serving.slo.ttft="500 ms" --set serving.slo.tpot="50 ms")");
}

/// Finds the highest rate, and lets the load have it.
void raise_rate(Deployment& deployment, Serving& serving, ServingReport& r) {
  r.max_rate = max_rate(serving.load.rate_per_s, [&](double rate) {
    Load load = serving.load;
    load.rate_per_s = rate;
    const std::vector<Request> requests = draw_requests(load);
    const Service service = deployment.serve(requests, load);
    return summarize(service, requests, {}, r.devices, r.replicas, serving.slo)
        .all.attainment.reaches(serving.slo);
  });
  if (r.max_rate->rate_per_s > 0) serving.load.rate_per_s = r.max_rate->rate_per_s;
}

ServingReport served(const Scenario& s, ServingQuestion question, const RunFacts& facts,
                     ProgressLine& progress) {
  Serving serving = *s.serving;
  const bool searches = question == ServingQuestion::kMaxRate;
  require_described(s.model, serving, s.strategy.mesh);
  if (searches) require_rate(serving);
  std::vector<Request> requests = requests_of(serving.load);
  require_context(requests, serving.limits);
  Deployment deployment{
      {served_model(s, serving.limits), serving.limits, serving.speculation, s.memory}};
  ServingReport r;
  r.run = facts;
  r.model = s.model.name;
  r.cluster = cluster_text(s.cluster);
  r.layout = layout_words(s.strategy.mesh);
  r.devices = s.cluster.world_size();
  r.replicas = s.strategy.mesh[Axis::kDp];
  r.limits = deployment.pool.limits();
  r.speculation = serving.speculation;
  r.slo = serving.slo;
  r.capacity = deployment.pool.capacity();
  r.fits = deployment.pool.fits();
  if (!r.fits) return r;
  if (searches) {
    raise_rate(deployment, serving, r);
    requests = draw_requests(serving.load);
  }
  TokenCount count(requests, progress);
  r.service = deployment.serve(requests, serving.load, searches ? nullptr : &count);
  r.kinds = kinds_of(serving.load);
  r.summary = summarize(r.service, requests, r.kinds, r.devices, r.replicas, r.slo);
  r.requests = std::move(requests);
  r.shapes = deployment.pool.shapes();
  return r;
}

}  // namespace

ServingReport predict_serving(const Scenario& scenario, ServingQuestion question,
                              const RunFacts& facts, ProgressLine& progress) {
  require_serving(scenario);
  try {
    return served(scenario, question, facts, progress);
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

}  // namespace plait
