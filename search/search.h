#pragma once
// The fastest layouts that fit, with the proof that no other is faster: best-first branch and
// bound. Every layout of the space is bounded from below; in the order of their bounds layouts are
// simulated, until the next bound is beyond what was found.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "search/work.h"

namespace plait {

/// How far a search is. Layouts are bounded first: `bounded` of `layouts`; then both are 0.
struct SearchProgress {
  std::int64_t bounded = 0, layouts = 0;
  std::int64_t simulated = 0;
  std::int64_t left = 0;    // at most: each improvement leaves less to do
  SimTime best = 0;         // step time; 0: nothing yet
  Bytes memory_limit = {};  // as the search's options have it
};

using ProgressOfSearch = std::function<void(const SearchProgress&)>;

struct SearchOptions {
  std::size_t best = 10;    // how many layouts to find
  Bytes memory_limit = {};  // of the fullest rank; 0: what its device has
  /// Slower layouts are not looked for: those found elsewhere are better.
  SimTime slowest = std::numeric_limits<SimTime>::max();
  /// Simulations at most, of layouts that no search of the searcher has simulated before; then the
  /// answer carries a gap.
  std::int64_t budget = std::numeric_limits<std::int64_t>::max();
  const std::atomic<bool>* stop = nullptr;  // set: the same, at once
  /// Called between rounds, a few times a second at most.
  ProgressOfSearch progress = {};
  /// Layouts that are thought to be good: a search that ends early simulates them too, beyond the
  /// budget, rather than answer with worse ones.
  std::function<std::vector<Layout>()> guesses = {};
  int threads = 1;  // that put the layouts in order, beside those of the crew
};

struct Found {
  Layout layout;
  Evaluation result;
  SimTime bound = 0;                                    // what was known before it was simulated
  std::int64_t number = 0;                              // in the order of the space
  std::shared_ptr<const EvaluatedStep> step = nullptr;  // null: not kept
};

/// What became of each layout of the space; the counts below `considered` add up to it.
struct Certificate {
  std::int64_t considered = 0;
  std::int64_t refused = 0;    // cannot be planned
  std::int64_t too_large = 0;  // by the bound of memory: does not fit
  std::int64_t too_slow = 0;   // by the bound of time: not among the best
  std::int64_t simulated = 0;  // whatever came of it, but for those that are refused
  std::int64_t open = 0;       // not decided: out of budget, or stopped
  /// How much faster than the best found an undecided layout could be: 0.05 is 5 %. 0: proven;
  /// infinite: none was found, or not all are bounded.
  double gap = 0;
  /// The same of the last of those that were found.
  double gap_of_last = 0;
  /// Of the simulated those that are as fast as the best then known, and do not fit. How much
  /// memory slower ones need is not asked.
  std::int64_t fast_but_too_large = 0;
};

struct SearchResult {
  std::vector<Found> best;  // fastest first; ties in the order of the space
  Certificate certificate;
  /// What cannot be planned, with what is known of it.
  std::vector<std::pair<std::uint32_t, Answer>> refused = {};
};

/// A layout with its simulation, and what was known before.
struct Simulated {
  std::uint32_t number = 0;
  SimTime bound = 0;
  Answer answer;
};

/// What hears of simulations while a search runs.
struct SearchEars {
  /// Of each, once, as soon as it is known, in any order.
  std::function<void(std::uint32_t number, const Answer&)> at_once = {};
  /// Of those of each round, in their order, which depends on the search alone; known ones too.
  std::function<void(const std::vector<Simulated>&)> in_order = {};
  bool all_memory = false;  // of layouts too slow to matter, too
};

/// One space, to be searched as often as one likes: what one search worked out, the next knows.
class Searcher {
 public:
  /// The crew's work is `work`.
  Searcher(const SearchWork& work, Crew& crew, SearchEars ears = {});

  /// Bounds all layouts, with which the first search begins. Where it is stopped before, nothing is
  /// known of the others.
  void bound_all(const std::atomic<bool>* stop, const ProgressOfSearch& progress = {});
  /// Who hears of simulations from now on.
  void tell(SearchEars ears) { ears_ = std::move(ears); }
  /// What is known of a layout from elsewhere: it will not be simulated.
  void know(std::uint32_t number, const Answer& answer) { known_[number] = answer; }
  /// Deterministic: the same whoever is in the crew and whatever is known.
  SearchResult run(const SearchOptions& options);
  /// Layouts that its searches have simulated so far, each once.
  std::int64_t simulated() const { return std::ssize(told_); }

 private:
  friend class Run;

  const SearchWork& work_;
  Crew& crew_;
  SearchEars ears_;
  Answers bounds_;            // of every layout, as far as they were asked for
  std::size_t bounded_ = 0;   // so many of them
  std::vector<char> walked_;  // the closer bound is in `bounds_`
  std::unordered_map<std::uint32_t, Answer> known_;
  std::unordered_set<std::uint32_t> told_;  // simulated, and told to ears_.in_order
};

/// All at once, on threads of this process.
SearchResult search(const Scenario& scenario, const CostModel& costs, const Space& space,
                    const SearchOptions& options = {}, int threads = 1);

}  // namespace plait
