#include "serving/summary.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

Seconds at(const std::vector<SimTime>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = place - std::floor(place);
  return Seconds(std::lerp(to_seconds(sorted[below]).value, to_seconds(sorted[above]).value, part));
}

/// Requests that `chosen` accepts.
template <class Chosen>
KindSummary summary_of(const Service& service, const std::vector<Request>& requests, const Slo& slo,
                       Chosen&& chosen) {
  KindSummary out;
  std::vector<SimTime> first, each, whole;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!chosen(requests[i])) continue;
    const Served& s = service.requests[i];
    ++out.requests;
    out.prompt_tokens += requests[i].prompt, out.output_tokens += requests[i].output;
    out.preemptions += s.preemptions, out.found_tokens += s.found;
    const Latency latency = latency_of(requests[i], s);
    first.push_back(latency.first_token);
    whole.push_back(latency.end_to_end);
    if (requests[i].output > 1) each.push_back(latency.per_token);
    out.attainment.add(kept_by(latency, slo));
  }
  out.first_token = quantiles(std::move(first));
  out.per_token = quantiles(std::move(each));
  out.end_to_end = quantiles(std::move(whole));
  return out;
}

}  // namespace

Quantiles quantiles(std::vector<SimTime> sample) {
  if (sample.empty()) return {};
  std::ranges::sort(sample);
  double sum = 0;  // seconds
  for (const SimTime t : sample) sum += to_seconds(t).value;
  return {Seconds(sum / static_cast<double>(sample.size())),
          at(sample, 0.5),
          at(sample, 0.9),
          at(sample, 0.95),
          at(sample, 0.99),
          to_seconds(sample.back()),
          std::ssize(sample)};
}

double busy_share(const PoolUse& use, std::int64_t replicas, SimTime makespan) {
  const auto places = static_cast<double>(use.busy.size()) * static_cast<double>(replicas);
  if (places == 0 || makespan <= 0) return 0;
  double busy = 0;
  for (const TotalTime t : use.busy) busy += to_seconds(t).value;
  return busy / (places * to_seconds(makespan).value);
}

ServiceSummary summarize(const Service& service, const std::vector<Request>& requests,
                         const std::vector<RequestKind>& kinds, std::int64_t devices,
                         std::int64_t replicas, const Slo& slo) {
  ServiceSummary out;
  out.all = summary_of(service, requests, slo, [](const Request&) { return true; });
  out.all.name = "all";
  for (std::size_t k = 0; kinds.size() > 1 && k < kinds.size(); ++k) {
    out.kinds.push_back(
        summary_of(service, requests, slo, [k](const Request& r) { return r.kind == k; }));
    out.kinds.back().name = kinds[k].name;
  }
  out.token_gap = quantiles(service.gaps);
  out.makespan = to_seconds(service.makespan);
  const double seconds = out.makespan.value;
  if (seconds <= 0) return out;
  const auto answered = static_cast<double>(out.all.output_tokens);
  out.requests_per_s = static_cast<double>(out.all.requests) / seconds;
  out.output_tokens_per_s = answered / seconds;
  out.tokens_per_s = (answered + static_cast<double>(out.all.prompt_tokens)) / seconds;
  out.tokens_per_s_per_device = out.output_tokens_per_s / static_cast<double>(devices);
  out.goodput_per_s = static_cast<double>(out.all.attainment.good) / seconds;
  out.goodput_per_s_per_device = out.goodput_per_s / static_cast<double>(devices);
  const double each = out.all.per_token.mean.value;
  out.tokens_per_s_per_user = each > 0 ? 1 / each : 0;
  out.devices_busy = busy_share(service, replicas, service.makespan);
  return out;
}

}  // namespace plait
