#pragma once
// What serving a load comes to, as text for people and JSON for machines.

#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/terminal.h"
#include "serving/capacity.h"
#include "serving/handover_summary.h"
#include "serving/max_rate.h"
#include "serving/requests.h"
#include "serving/summary.h"

namespace plait {

inline constexpr int kServingLabel = 14;  // columns of the labels on the left

/// Replicas of one layout.
struct PoolReport {
  std::string name, layout, instance;  // "prefill"; "tp 4, dp 2"; "tp 4"
  std::int64_t devices = 0, replicas = 1;
  EngineLimits limits;
  CacheCapacity capacity;
  bool fits = false;
};

struct ServingReport {
  RunFacts run;
  std::string model, cluster, layout;
  std::int64_t devices = 0, replicas = 1;
  double price_per_device_hour = 0;  // in the user's currency; 0: not said
  EngineLimits limits;
  Speculation speculation;
  CacheCapacity capacity;
  /// False: the cache has no room for the longest sequence, and nothing was served.
  bool fits = false;
  /// Prefill and decode, where they are apart. What stands above is then of decode, but for layout,
  /// devices and fits, which are of both.
  std::vector<PoolReport> pools;
  /// Where it does not: fields as which the model's own release is narrower, for --set; or "".
  std::string narrower_release;
  /// Likewise changes for --set each of which alone makes it fit, the smallest first.
  std::vector<std::string> cures;
  std::optional<HandoverSummary> handovers;
  ServiceSummary summary;
  Slo slo;
  std::optional<MaxRate> max_rate;  // where it was asked for; the service is the one at that rate
  std::vector<Request> requests;    // as they were asked, in the service's order
  std::vector<RequestKind> kinds;   // of requests
  Service service;
  std::size_t shapes = 0;  // of steps that were simulated

  /// Where prompts are computed.
  bool caches_prefixes() const {
    return (pools.empty() ? limits : pools.front().limits).prefix_caching;
  }
  /// The cache that has no room for the longest sequence, or decode's.
  const CacheCapacity& tightest_cache() const {
    return !pools.empty() && !pools.front().fits ? pools.front().capacity : capacity;
  }
  bool attains() const { return summary.all.attainment.reaches(slo); }
  /// It fits, and as many requests are good as are asked for.
  bool is_yes() const { return fits && (!slo.any() || attains()); }
  /// Of all devices for as long as the load took, for 1e6 tokens of its answers; 0: not said.
  double price_per_million_output_tokens() const;
  /// Requests for each arrival: more than 1 where conversations arrive.
  double turns() const;
};

/// "FITS          16.9 GiB of ...": a label and what it says.
Line serving_line(const std::string& label, const std::string& text, Ink ink = Ink::kPlain);

/// A quantile, mean or maximum of these; "-": there are none.
std::string time_of(const Quantiles& quantiles, Seconds part);

/// What the steps spend most of their time on: "memory bandwidth", ...
std::string bound_of(const StepTotals& totals);

/// What a cache that does not fit lacks: "kv_cache_tokens is 100; a sequence has up to 8,192", or
/// `leaves` "for 100 tokens; ...".
std::string lacking_words(const CacheCapacity& capacity, const EngineLimits& limits,
                          const std::string& leaves);

/// Of a server that does not fit: what there is no room for, and what makes room.
struct ServingShortage {
  std::string reason, cure;
};
ServingShortage shortage_of(const ServingReport& report);

/// Whether a cache has room, and for what; each pool behind its name.
std::vector<Line> capacity_lines(const ServingReport& report);

std::string to_text(const ServingReport& report, const TerminalStyle& style);
std::string to_json(const ServingReport& report);
/// A line per request: when it came, had its first token and its last, on which replica, and with
/// objectives whether it was good.
std::string to_csv(const ServingReport& report);

}  // namespace plait
