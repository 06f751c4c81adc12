#pragma once
// The fastest layouts that fit, with the proof that no other is faster: best-first branch and
// bound. Every layout of the space is bounded from below; in the order of their bounds layouts are
// simulated, until the next bound is beyond what was found.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "search/bounds.h"
#include "search/evaluate.h"
#include "search/space.h"

namespace plait {

struct SearchOptions {
  std::size_t best = 10;  // how many layouts to find
  int threads = 1;
  Bytes memory_limit = {};  // of the fullest rank; 0: what its device has
  /// Simulations at most; then the answer carries a gap.
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  const std::atomic<bool>* stop = nullptr;  // set: the same, at once
  /// Called between rounds with how many are simulated and the best step time so far (0: none).
  std::function<void(std::int64_t, SimTime)> progress = {};
};

struct Found {
  Layout layout;
  Evaluation result;
  SimTime bound = 0;        // what was known before it was simulated
  std::int64_t number = 0;  // in the order of the space
};

/// What became of each layout of the space; the counts below `considered` add up to it.
struct Certificate {
  std::int64_t considered = 0;
  std::int64_t refused = 0;       // cannot be planned
  std::int64_t too_large = 0;     // by the bound of memory: does not fit
  std::int64_t too_slow = 0;      // by the bound of time: not among the best
  std::int64_t does_not_fit = 0;  // by exact memory
  std::int64_t simulated = 0;     // to the end, or found too slow; without those that do not fit
  std::int64_t open = 0;          // not decided: out of budget, or stopped
  /// How much faster than the best found an undecided layout could be: 0.05 is 5 %. 0: proven.
  double gap = 0;
};

struct SearchResult {
  std::vector<Found> best;  // fastest first; ties in the order of the space
  Certificate certificate;
};

/// Deterministic: the same for any number of threads. `bounds` are of the same scenario and cost
/// model; several searches may share them.
SearchResult search(const Scenario& scenario, const CostModel& costs, Bounds& bounds,
                    const Space& space, const SearchOptions& options = {});

}  // namespace plait
