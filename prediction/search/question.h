#pragma once
// What a search is asked: over which machines and layouts, and which of them are the best.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/vary.h"
#include "scenarios/scenario.h"

namespace plait {

/// What the best has least of, for each token that is trained on; kGpus: of all.
enum class Objective : std::uint8_t { kTime, kCost, kEnergy, kGpus };
std::string_view name_of(Objective objective);
/// The objective of that name, which is one of them.
Objective objective_named(std::string_view name);

struct SearchQuestion {
  std::string file, text;         // of the scenario
  std::vector<Override> sets;     // of it
  std::vector<Variation> varied;  // around the search
  std::vector<std::string> keep;  // fields that stay as they are where all are searched
  Objective objective = Objective::kTime;
  std::size_t best = 10;                                           // how many layouts to find
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();  // of simulations
  std::int64_t max_gpus = 0;                                       // of a machine; 0: any
  double tokens = 0, days = 0;      // to be trained on, and within; 0: not said
  bool front = false;               // pareto_front (reports/search.h) is asked for
  std::vector<std::string> prices;  // of a device for an hour: "2.5", "h100-sxm=2.5"
  std::string command_line;         // for reports to quote
  int jobs = 1;                     // threads
};

}  // namespace plait
