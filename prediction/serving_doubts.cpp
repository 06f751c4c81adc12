#include "prediction/serving_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/time.h"
#include "prediction/is_written.h"
#include "prediction/narrower_release.h"
#include "reports/human.h"

namespace plait {

Warnings doubts_of_load(const std::vector<Request>& requests, const Service& service,
                        const Load& load) {
  constexpr double kWaiting = 0.05;  // share of the requests that may wait
  constexpr double kBurst = 0.01;    // of the time that a trace takes: asked at once
  const bool follows =
      std::ranges::any_of(requests, [](const Request& r) { return r.follows >= 0; });
  if (load.arrivals == Arrivals::kClosed || follows || requests.empty()) return {};
  const SimTime begin = service.requests.front().arrival, end = service.requests.back().arrival;
  const double window = to_seconds(end - begin).value;
  const double all = to_seconds(service.makespan).value;
  // All come before any is answered: no rate is meant.
  const bool at_once =
      std::ranges::all_of(service.requests, [end](const Served& s) { return s.first_token > end; });
  if (at_once || (load.arrivals == Arrivals::kTrace && window <= kBurst * all)) return {};
  const auto count = static_cast<double>(requests.size());
  const auto waiting = static_cast<double>(std::ranges::count_if(
      service.requests, [&](const Served& s) { return s.first_token > end; }));
  if (waiting <= std::max(kWaiting * count, 3 * std::sqrt(count))) return {};
  return {
      {"W019", fmt::format("when the last of {} requests arrives, {} still wait for their first "
                           "token. Either more come ({} a second) than are answered ({}), and "
                           "waits grow with the number of requests, or these are too few to tell "
                           "what a rate that lasts is like (--max-rate finds the highest)",
                           human_count(std::ssize(requests)),
                           human_count(static_cast<std::int64_t>(waiting)),
                           human_number(count / window), human_number(count / all))}};
}

Warnings doubts_of_mapped_weights(const CacheCapacity& capacity) {
  const std::optional<HostRoom>& host = capacity.host;
  if (!host || !host->mapped || !host->is_short()) return {};
  return {{"W029", fmt::format("{} of the mapped file and {} of cache do not fit into the {} of "
                               "host memory: what has no room is read from the drive in each step, "
                               "which takes far longer than is predicted here",
                               human_bytes(host->use.memory.value), human_bytes(host->needed.value),
                               human_bytes(host->use.capacity.value))}};
}

Warnings doubts_of_precision(const Scenario& s) {
  const std::string narrower = narrower_release(s.model.name, s.serving->precision);
  const bool meant = is_written(s, "serving.weights") || is_written(s, "serving.expert_weights") ||
                     is_written(s, "serving.products") || is_written(s, "serving.expert_products");
  if (narrower.empty() || meant) return {};
  return {{"W020",
           fmt::format(
               "{} is published with {}, and served here in {}, which takes more memory and time",
               s.model.name, narrower, name_of(s.serving->precision.activations))}};
}

Warnings doubts_of_issue(const Scenario& s) {
  const EngineLimits& limits = s.serving->limits;
  const bool eager = !limits.graphs && limits.engine != ServingEngine::kLlamaCpp;
  const bool copies = s.serving->layers.leaves_devices();  // which take far longer
  if (!eager || copies || s.host.launch_time.value > 0) return {};
  return {{"W030",
           "serving.engine.cuda_graphs is false and host.launch_time is 0: kernels are issued in "
           "no time, so a step is told faster than with graphs, by what these pad; say "
           "host.launch_time, such as 5 us"}};
}

}  // namespace plait
