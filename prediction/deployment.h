#pragma once
// The engines of a scenario, on its devices: one pool of replicas that are alike, or one that
// prefills and one that decodes.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reports/serving.h"
#include "scenarios/scenario.h"
#include "serving/kv_transfer.h"
#include "serving/priced_pool.h"

namespace plait {

/// Serves a load as often as it is asked to: what steps take is known from then on.
class Deployment {
 public:
  /// Hears how many tokens each step generates, guesses that are wrong among them.
  using Generated = std::function<void(std::int64_t tokens)>;

  /// `serving`: of the scenario, with the limits that are not stated filled in.
  Deployment(const Scenario& scenario, const Serving& serving);

  Service serve(const std::vector<Request>& requests, const Load& load,
                const Generated& generated = {});
  /// What the report says before anything is served.
  void describe(ServingReport& report) const;
  /// What it says of report.service.
  void summarize(ServingReport& report, const std::vector<Request>& requests) const;

 private:
  bool apart_;
  FirstToken first_token_;
  std::optional<PricedPool> prefill_, generating_;
  KvRoutes routes_;
};

}  // namespace plait
