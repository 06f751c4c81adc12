#pragma once
// One scenario with some of its fields varied: the points, and from where on a field no longer
// matters.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/vary.h"
#include "prediction/evaluate.h"
#include "reports/whatif.h"

namespace plait {

struct WhatIfQuestion {
  ScenarioText text;
  std::vector<Override> sets;         // of all points
  Scenario base;                      // `text` with them, and nothing varied
  std::vector<Variation> variations;  // of as many fields
  std::vector<std::string> prices;    // of --price (prediction/prices.h)
};

/// Told that `done` of `all` "points" or "break-evens" are done.
using WhatIfWatch = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;

/// `jobs`: threads. Without a report of the scenario itself only the points are there. Throws as
/// Evaluator does.
WhatIf what_if(const WhatIfQuestion& asked, const std::string& command_line, int jobs,
               const WhatIfWatch& watch);

}  // namespace plait
