#pragma once
// What to change when a layout does not fit.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"
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

}  // namespace plait
