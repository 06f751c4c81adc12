#pragma once
// What users of a server feel, as benchmarks of vLLM and others report it: the time to the first
// token (TTFT), the time per token after it (TPOT), the gaps between tokens (ITL), the time to the
// whole answer, with quantiles; and what the machine delivers.

#include <string>
#include <vector>

#include "serving/objectives.h"
#include "serving/serve.h"

namespace plait {

/// Of a sample; the q-quantile lies between the order statistics next to q (n - 1), as NumPy's.
struct Quantiles {
  Seconds mean, p50, p90, p95, p99, most;
  std::int64_t samples = 0;  // none: there is nothing to say
};
Quantiles quantiles(std::vector<SimTime> sample);

/// Requests of one kind, or of all.
struct KindSummary {
  std::string name;
  std::int64_t requests = 0, prompt_tokens = 0, output_tokens = 0, preemptions = 0;
  std::int64_t found_tokens = 0;  // of prompts, in the prefix cache
  /// vLLM's "Prefix cache hit rate": of the tokens of prompts, those that were found.
  double hit_rate() const {
    return prompt_tokens > 0
               ? static_cast<double>(found_tokens) / static_cast<double>(prompt_tokens)
               : 0;
  }
  Quantiles first_token, end_to_end;
  Quantiles per_token;    // of requests with two tokens and more
  Attainment attainment;  // of the limits that are stated
};

struct ServiceSummary {
  KindSummary all;
  std::vector<KindSummary> kinds;  // where there are several
  Quantiles token_gap;
  Seconds makespan;
  double requests_per_s = 0, output_tokens_per_s = 0, tokens_per_s = 0;  // prompts too
  double tokens_per_s_per_device = 0;                                    // of output
  /// Of output, while a request is answered: 1 / mean TPOT; 0 where no request has one.
  double tokens_per_s_per_user = 0;
  double devices_busy = 0;  // share of the makespan, mean over stages
  /// Good requests / makespan: vLLM's "Request goodput".
  double goodput_per_s = 0, goodput_per_s_per_device = 0;
};

/// Share of the makespan in which devices work, mean over the stages of all replicas.
double busy_share(const PoolUse& use, std::int64_t replicas, SimTime makespan);

ServiceSummary summarize(const Service& service, const std::vector<Request>& requests,
                         const std::vector<RequestKind>& kinds, std::int64_t devices,
                         std::int64_t replicas, const Slo& slo = {});

}  // namespace plait
