#include "prediction/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "core/file.h"
#include "core/json.h"
#include "core/time.h"
#include "plan/refusal.h"
#include "prediction/context_length.h"
#include "prediction/deployment.h"
#include "prediction/narrower_release.h"
#include "prediction/number_formats.h"
#include "prediction/serving_cures.h"
#include "prediction/serving_doubts.h"
#include "reports/human.h"
#include "serving/max_rate.h"
#include "serving/require_described.h"
#include "serving/sustained.h"

namespace plait {
namespace {

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
  TokenCount(const std::vector<Request>& requests, const ServingWatch& watch,
             std::string what = "tokens")
      : watch_(watch), what_(std::move(what)) {
    for (const Request& r : requests) all_ += r.output;
  }
  void operator()(std::int64_t tokens) {
    done_ += tokens;
    if (watch_ && ++steps_ % kSteps == 0) watch_(std::min(done_, all_), all_, what_);
  }

 private:
  static constexpr int kSteps = 256;  // so that counting costs nothing
  const ServingWatch& watch_;
  std::string what_;
  std::int64_t done_ = 0, all_ = 0, steps_ = 0;
};

/// By name: a device that shares its memory with the processor has flows too.
bool asks_for_flows(const Scenario& s) {
  const Json* network = s.source == nullptr ? nullptr : s.source->root().find("network");
  return network != nullptr && network->is(Json::Kind::kText) && network->text() == "flow";
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
  if (s.slo.any()) {
    refuse_rate("the highest rate at which no request has to keep its limits",
                "serving.slo.attainment",
                "raise serving.slo.attainment above 0: 0.9 of the requests by default");
  }
  refuse_rate(
      "the highest rate of requests that may take any time", "serving.slo",
      R"(say what is good: --set serving.slo.ttft="500 ms" --set serving.slo.tpot="50 ms")");
}

/// The cause of times that are not counted is a rate, not the machine.
void require_arrivals(const Load& load) {
  const Seconds all(static_cast<double>(load.count) / load.rate_per_s);
  const bool talks = std::ranges::any_of(load.kinds, [](const auto& k) { return k.turns > 1; });
  if (load.arrivals != Arrivals::kPoisson || talks || all <= to_seconds(kLongestTime)) return;
  throw refusal("S199",
                fmt::format("{} requests at {:g} a second arrive over {:.0f} days", load.count,
                            load.rate_per_s, all.value / 86400),
                "serving.requests.rate_per_s", "arrivals within 100 days",
                "raise the rate, or lower serving.requests.count", {"serving.requests.count"});
}

/// Finds the highest rate, and lets the load have it, with the requests that have held it.
void raise_rate(Deployment& deployment, Serving& serving, ServingReport& r,
                const ServingWatch& watch) {
  constexpr double kLongest = 50 * 86400;  // seconds until the last arrival: half of SimTime's
  const auto serve = [&](const std::vector<Request>& requests, const Load& load) {
    TokenCount count(
        requests, watch,
        fmt::format("tokens of {} requests, {:g} a second", load.count, load.rate_per_s));
    return deployment.serve(requests, load, std::ref(count));
  };
  const std::int64_t places = r.limits.max_sequences * r.replicas;
  std::int64_t held_by = serving.load.count;
  std::int64_t undecided_by = 0;  // requests at the lowest rate that is not held; 0: it is missed
  const auto holds = [&](double rate) {
    Load load = serving.load;
    load.rate_per_s = rate;
    const Sustained s = sustains(load, serving.slo, places, serve);
    if (s.held) {
      held_by = s.count;
    } else {
      undecided_by = s.undecided ? s.count : 0;
    }
    return s.held;
  };
  const Load& load = serving.load;
  r.max_rate = max_rate(load.rate_per_s, holds, static_cast<double>(load.count) / kLongest);
  if (undecided_by > 0) {
    r.run.warnings.push_back(
        {"W010", fmt::format("{:g} requests a second are not tried for as long as would show "
                             "whether they last: {} are served at most",
                             r.max_rate->missed_per_s, undecided_by)});
  }
  if (r.max_rate->rate_per_s == 0) return;
  r.max_rate->count = held_by;
  serving.load.rate_per_s = r.max_rate->rate_per_s, serving.load.count = held_by;
}

/// What is to be served; limits that `serving` does not state follow from it.
std::vector<Request> asked(const Scenario& s, Serving& serving) {
  require_described(s.model, serving, s.strategy.mesh);
  require_formats(s, serving);
  require_positions(s);
  require_arrivals(serving.load);
  std::vector<Request> requests = requests_of(serving.load);
  require_context(requests, s, serving);
  return requests;
}

/// All that is known before anything is served.
ServingReport room(const Scenario& s, const Serving& serving, const Deployment& deployment,
                   const RunFacts& facts) {
  ServingReport r;
  r.run = facts;
  r.model = s.model.name;
  r.cluster = cluster_text(s.cluster);
  r.devices = s.cluster.world_size();
  r.price_per_device_hour = s.price_per_device_hour;
  r.speculation = serving.speculation;
  r.slo = serving.slo;
  deployment.describe(r);
  append(r.run.warnings, doubts_of_precision(s));
  append(r.run.warnings, doubts_of_issue(s));
  if (const std::int64_t n = serving.load.unanswered; n > 0) {
    r.run.warnings.push_back(
        {"W024", fmt::format("{}: {} without tokens of an answer, as failures are, left out",
                             serving.load.trace, human_plural(n, "request"))});
  }
  if (asks_for_flows(s)) {
    r.run.warnings.push_back({"W006", "network flow: steps are served with the analytic network"});
  }
  append(r.run.warnings, doubts_of_mapped_weights(r.capacity));
  if (!r.fits) {
    r.narrower_release = narrower_release(s.model.name, serving.precision);
    r.cures = serving_cures(s, serving);
  }
  return r;
}

ServingReport served(const Scenario& s, ServingQuestion question, const RunFacts& facts,
                     const ServingWatch& watch) {
  Serving serving = *s.serving;
  const bool searches = question == ServingQuestion::kMaxRate;
  if (searches) require_rate(serving);
  std::vector<Request> requests = asked(s, serving);
  Deployment deployment(s, serving);
  ServingReport r = room(s, serving, deployment, facts);
  if (!r.fits) return r;
  require_memory(requests);
  if (searches) {
    raise_rate(deployment, serving, r, watch);
    requests = draw_requests(serving.load);
  }
  TokenCount count(requests, watch);
  r.service = deployment.serve(requests, serving.load, std::ref(count));
  if (!searches) append(r.run.warnings, doubts_of_load(requests, r.service, serving.load));
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

ServingReport predict_room(const Scenario& scenario, const RunFacts& facts) {
  require_serving(scenario);
  try {
    Serving serving = *scenario.serving;
    asked(scenario, serving);
    return room(scenario, serving, Deployment(scenario, serving), facts);
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

ServingReport predict_serving(const Scenario& scenario, ServingQuestion question,
                              const RunFacts& facts, const ServingWatch& watch) {
  require_serving(scenario);
  try {
    return served(scenario, question, facts, watch);
  } catch (const InputError& error) {
    throw locate(error, scenario);
  }
}

}  // namespace plait
