#pragma once
// Which requests keep the service level objectives (plan/requests.h, Slo), and how many do. As
// `vllm bench serve --goodput` counts: a request is good where it keeps every limit that is stated;
// one with a single token has no time per token, and keeps that limit.

#include "plan/requests.h"
#include "serving/serve.h"

namespace plait {

/// Of one request, from its arrival.
struct Latency {
  SimTime first_token = 0, per_token = 0, end_to_end = 0;  // per_token: after the first; 0: none
};
Latency latency_of(const Request& request, const Served& served);

/// Which limits were kept.
struct Kept {
  bool ttft = true, tpot = true, e2el = true;
  bool all() const { return ttft && tpot && e2el; }
};
Kept kept_by(const Latency& latency, const Slo& slo);

/// How many requests keep all limits, and how many miss each.
struct Attainment {
  std::int64_t requests = 0, good = 0;
  std::int64_t missed_ttft = 0, missed_tpot = 0, missed_e2el = 0;
  void add(const Kept& kept);
  double share(std::int64_t part) const {
    return requests > 0 ? static_cast<double>(part) / static_cast<double>(requests) : 0;
  }
  bool reaches(const Slo& slo) const;
};

}  // namespace plait
