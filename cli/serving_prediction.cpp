#include "cli/serving_prediction.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "cli/context_length.h"
#include "cli/prediction.h"
#include "core/json.h"
#include "scenarios/dialects/checkpoint_names.h"
#include "serving/handover_summary.h"
#include "serving/kv_transfer.h"
#include "serving/layer_maps.h"
#include "serving/max_rate.h"
#include "serving/priced_pool.h"
#include "serving/require_described.h"
#include "serving/sustained.h"
#include "topologies/variation.h"

namespace plait {
namespace {

/// Where replicas are, and how they batch.
struct Replicas {
  Mesh mesh;
  std::vector<std::int64_t> placement;
  EngineLimits limits;
  std::optional<double> slowest = {};  // of the devices of one, where the scenario does not say
};

ServedModel served_model(const Scenario& s, const Replicas& replicas) {
  ServedModel served;
  const EngineLimits& limits = replicas.limits;
  served.model = s.model;
  served.precision = s.serving->precision;
  served.layout.mesh = replicas.mesh;
  served.cluster = s.cluster;
  served.costs = costs_of(s);
  if (replicas.slowest) served.costs.slowest = *replicas.slowest;
  const bool vllm = limits.engine != ServingEngine::kTensorRtLlm;
  served.precision.fused_elementwise = !vllm;
  served.precision.fused_experts = limits.engine != ServingEngine::kLlamaCpp;
  if (s.serving->expert_parallel) {
    served.layout.experts = ExpertSharing::kDealt;
  } else if (s.serving->divide_experts && s.model.experts > 0) {
    served.layout.experts = ExpertSharing::kDivided;
  }
  served.layout.row_split = s.serving->layers.split == LayerSplit::kRow;
  served.costs.one_peer_at_a_time = served.layout.row_split;
  if (limits.own_all_reduce) {
    served.costs.engine_all_reduce = vllm ? EngineReduce::kVllm : EngineReduce::kTensorRtLlm;
  }
  served.placement = replicas.placement;
  served.graphs = limits.graphs;
  served.layout.map = deal_layers(served, s.serving->layers, limits, s.memory);
  return served;
}

Replicas alike(const Scenario& s, const EngineLimits& limits) {
  return {s.strategy.mesh, s.placement, limits};
}

/// On the devices from `first` on, in order.
Replicas replicas_of(const Scenario& s, const EnginePool& pool, std::int64_t first) {
  Replicas out;
  out.mesh[Axis::kTp] = pool.tp, out.mesh[Axis::kPp] = pool.pp, out.mesh[Axis::kDp] = pool.dp;
  out.placement.resize(static_cast<std::size_t>(pool.devices()));
  std::iota(out.placement.begin(), out.placement.end(), first);
  out.limits = pool.limits;
  if (s.cluster.jitter == 0) {
    out.slowest = slowest_device(s.cluster.variation, pool.tp * pool.pp);
  }
  return out;
}

std::string layout_words(const Mesh& mesh) {
  std::string out;
  for (const Axis a : {Axis::kTp, Axis::kPp, Axis::kDp}) {
    if (mesh[a] > 1) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(a), mesh[a]);
  }
  return out.empty() ? "one device" : out;
}

std::vector<Request> requests_of(Load& load) {
  if (load.arrivals != Arrivals::kTrace) {
    require_memory(load);
    return draw_requests(load);
  }
  return read_trace(read_text_file(load.trace), load.trace, load);
}

/// Counts the tokens that steps generate, guesses that are wrong among them.
class TokenCount {
 public:
  TokenCount(const std::vector<Request>& requests, ProgressLine& progress,
             std::string what = "tokens")
      : progress_(progress), what_(std::move(what)) {
    for (const Request& r : requests) all_ += r.output;
  }
  void add(std::int64_t tokens) {
    done_ += tokens;
    if (++steps_ % kSteps == 0) {
      progress_(static_cast<std::size_t>(std::min(done_, all_)), static_cast<std::size_t>(all_),
                what_);
    }
  }

 private:
  static constexpr int kSteps = 256;  // so that counting costs nothing
  ProgressLine& progress_;
  std::string what_;
  std::int64_t done_ = 0, all_ = 0, steps_ = 0;
};

/// What a plan says of the strategy is of the pool: its fields stand there.
InputError of_pool(const InputError& error, const std::string& pool) {
  const std::string strategy = "strategy", path = "serving.disaggregated." + pool;
  InputError::Text text = error.text();
  if (!text.where.path.starts_with(strategy)) return error;
  for (std::string* words : {&text.where.path, &text.expected, &text.cure}) {
    for (std::size_t at = 0; (at = words->find(strategy, at)) != std::string::npos;) {
      words->replace(at, strategy.size(), path);
      at += path.size();
    }
  }
  return InputError(std::move(text));
}

/// A load served by one pool or two, as often as it is asked for: what steps take is known from
/// then on.
class Deployment {
 public:
  Deployment(const Scenario& s, const Serving& serving)
      : apart_(serving.disaggregation.any()), first_token_(serving.disaggregation.first_token) {
    if (!apart_) {
      generating_.emplace(served_model(s, alike(s, serving.limits)), serving.limits,
                          serving.speculation, s.memory);
      return;
    }
    const EnginePool &p = serving.disaggregation.prefill, &d = serving.disaggregation.decode;
    emplace(prefill_, "prefill", s, replicas_of(s, p, 0), Speculation{});
    emplace(generating_, "decode", s, replicas_of(s, d, p.devices()), serving.speculation);
    routes_ = kv_routes(prefill_->model(), generating_->model());
  }
  Service serve(const std::vector<Request>& requests, const Load& load,
                TokenCount* count = nullptr) {
    const StepPrice price = [&](const Step& step, std::size_t replica) -> const StepTime& {
      if (count != nullptr) count->add(step.sampled);
      return generating_->price(step, replica);
    };
    const ServerOptions options = generating_->options(load.seed);
    if (!apart_) return plait::serve(requests, load, options, price);
    const StepPrice of_prompts = [&](const Step& step, std::size_t replica) -> const StepTime& {
      return prefill_->price(step, replica);
    };
    const ServerOptions prefill = prefill_->options(load.seed);
    return plait::serve(requests, load,
                        {prefill, options, of_prompts, price, routes_, first_token_});
  }
  /// What the report says before anything is served.
  void describe(ServingReport& r) const {
    r.limits = generating_->limits(), r.capacity = generating_->capacity();
    r.replicas = replicas(*generating_);
    r.fits = generating_->fits() && (!apart_ || prefill_->fits());
    r.layout += words_of(generating_->model().layout);
    if (!apart_) return;
    r.pools = {pool_report("prefill", *prefill_), pool_report("decode", *generating_)};
    r.layout = fmt::format("prefill: {}; decode: {}", r.pools[0].layout, r.pools[1].layout);
  }
  void summarize(ServingReport& r, const std::vector<Request>& requests) const {
    r.summary = plait::summarize(r.service, requests, r.kinds, r.devices, r.replicas, r.slo);
    r.shapes = generating_->shapes() + (apart_ ? prefill_->shapes() : 0);
    if (!apart_) return;
    r.handovers = summarize_handovers(r.service, routes_.bytes_per_token, replicas(*prefill_),
                                      replicas(*generating_));
    const auto of = [&](std::size_t pool) { return static_cast<double>(r.pools[pool].devices); };
    r.summary.devices_busy =
        (r.handovers->prefill_busy * of(0) + r.handovers->decode_busy * of(1)) /
        static_cast<double>(r.devices);
  }

 private:
  static void emplace(std::optional<PricedPool>& pool, const char* name, const Scenario& s,
                      const Replicas& replicas, const Speculation& speculation) {
    try {
      pool.emplace(served_model(s, replicas), replicas.limits, speculation, s.memory);
    } catch (const InputError& error) {
      throw of_pool(error, name);
    }
  }
  static std::int64_t replicas(const PricedPool& pool) {
    return pool.model().layout.mesh[Axis::kDp];
  }
  static PoolReport pool_report(const char* name, const PricedPool& pool) {
    const Mesh& mesh = pool.model().layout.mesh;
    Mesh one = mesh;
    one[Axis::kDp] = 1;
    return {name,           layout_words(mesh), layout_words(one), mesh.world_size(),
            replicas(pool), pool.limits(),      pool.capacity(),   pool.fits()};
  }

  bool apart_;
  FirstToken first_token_;
  std::optional<PricedPool> prefill_, generating_;
  KvRoutes routes_;
};

/// By name: a device that shares its memory with the processor has flows too.
bool asks_for_flows(const Scenario& s) {
  const Json* network = s.source == nullptr ? nullptr : s.source->root().find("network");
  return network != nullptr && network->is(Json::Kind::kText) && network->text() == "flow";
}

/// The settings of a checkpoint that is published narrower than the scenario's weights; or "".
std::string narrower_release(const std::string& model, const ServingPrecision& p) {
  const CheckpointFormat* format = published_format(model);
  const bool plain = p.weights == WeightFormat::kPlain && p.experts == WeightFormat::kPlain &&
                     !p.products && !p.expert_products;
  if (format == nullptr || !plain) return "";
  std::vector<std::string> fields;
  const auto add = [&](const char* key, std::string_view value, std::string_view usual) {
    if (value != usual) fields.push_back(fmt::format("serving.{}={}", key, value));
  };
  add("weights", format->weights, "plain");
  add("expert_weights", format->experts, format->weights);
  add("products", format->products, "plain");
  add("expert_products", format->expert_products, format->products);
  return fmt::format("{}", fmt::join(fields, " "));
}

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

/// Finds the highest rate, and lets the load have it, with the requests that have held it.
void raise_rate(Deployment& deployment, Serving& serving, ServingReport& r,
                ProgressLine& progress) {
  constexpr double kLongest = 50 * 86400;  // seconds until the last arrival: half of SimTime's
  const auto serve = [&](const std::vector<Request>& requests, const Load& load) {
    TokenCount count(
        requests, progress,
        fmt::format("tokens of {} requests, {:g} a second", load.count, load.rate_per_s));
    return deployment.serve(requests, load, &count);
  };
  const std::int64_t places = r.limits.max_sequences * r.replicas;
  std::int64_t held_by = serving.load.count;
  bool undecided = false;  // the lowest rate that is not held
  const auto holds = [&](double rate) {
    Load load = serving.load;
    load.rate_per_s = rate;
    const Sustained s = sustains(load, serving.slo, places, serve);
    if (s.held) {
      held_by = s.count;
    } else {
      undecided = s.undecided;
    }
    return s.held;
  };
  const Load& load = serving.load;
  r.max_rate = max_rate(load.rate_per_s, holds, static_cast<double>(load.count) / kLongest);
  if (undecided) {
    r.run.warnings.push_back(fmt::format(
        "W010: {:g} requests a second are not tried for as long as would show whether they last: "
        "{} are served at most",
        r.max_rate->missed_per_s, kMostRequests));
  }
  if (r.max_rate->rate_per_s == 0) return;
  r.max_rate->count = held_by;
  serving.load.rate_per_s = r.max_rate->rate_per_s, serving.load.count = held_by;
}

ServingReport served(const Scenario& s, ServingQuestion question, const RunFacts& facts,
                     ProgressLine& progress) {
  Serving serving = *s.serving;
  const bool searches = question == ServingQuestion::kMaxRate;
  require_described(s.model, serving, s.strategy.mesh);
  require_positions(s);
  if (searches) require_rate(serving);
  std::vector<Request> requests = requests_of(serving.load);
  require_context(requests, s, serving);
  Deployment deployment(s, serving);
  ServingReport r;
  r.run = facts;
  r.model = s.model.name;
  r.cluster = cluster_text(s.cluster);
  r.layout = layout_words(s.strategy.mesh);
  r.devices = s.cluster.world_size();
  r.price_per_device_hour = s.price_per_device_hour;
  r.speculation = serving.speculation;
  r.slo = serving.slo;
  deployment.describe(r);
  if (asks_for_flows(s)) {
    r.run.warnings.emplace_back("W006: network flow: steps are served with the analytic network");
  }
  if (!r.fits) {
    r.narrower_release = narrower_release(s.model.name, serving.precision);
    return r;
  }
  require_memory(requests);
  if (searches) {
    raise_rate(deployment, serving, r, progress);
    requests = draw_requests(serving.load);
  }
  TokenCount count(requests, progress);
  r.service = deployment.serve(requests, serving.load, &count);
  r.kinds = kinds_of(serving.load);
  deployment.summarize(r, requests);
  r.requests = std::move(requests);
  return r;
}

}  // namespace

std::int64_t sequences_with_room(const Scenario& scenario) {
  require_serving(scenario);
  const Serving& serving = *scenario.serving;
  if (serving.limits.max_context == 0) return serving.limits.max_sequences;
  try {
    require_described(scenario.model, serving, scenario.strategy.mesh);
    ServingReport r;
    Deployment(scenario, serving).describe(r);
    return static_cast<std::int64_t>(r.capacity.concurrency(r.limits));
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

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
