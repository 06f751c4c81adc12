#pragma once
// What to change when a layout does not fit.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "reports/terminal.h"
#include "reports/vary.h"
#include "scenarios/scenario.h"

namespace plait {

/// Changes of the scenario that go together, as --set takes them.
struct Cure {
  std::vector<Override> sets;
  std::int64_t peak_memory_bytes = 0;  // of the fullest rank, with the change
};

/// The changes that fit, those that usually cost the least speed first: more sharding of the
/// training state, sequence parallelism, smaller microbatches, recomputation, more tensor or
/// pipeline stages; pairs of them only when none alone is enough. At most `most`.
std::vector<Cure> cures(const Scenario& scenario, std::size_t most = 5);

/// [{"set": {"strategy.zero_stage": "3"}, "peak_memory_bytes": ...}, ...]
nlohmann::ordered_json cures_json(const std::vector<Cure>& cures);

std::vector<Line> cure_lines(const std::vector<Cure>& cures);

/// Columns of the longest of their set_options().
template <class Changed>
int set_options_width(const std::vector<Changed>& changes) {
  int out = 0;
  for (const Changed& c : changes) out = std::max(out, display_width(set_options(c.sets)));
  return out;
}

}  // namespace plait
