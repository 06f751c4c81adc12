// The answer is the best of all layouts, whoever looks for it.
#include "search/search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/search/cases.h"

namespace plait {
namespace {

struct Exhausted {
  std::vector<SimTime> steps;  // of those that fit, ascending
  std::int64_t planned = 0, fit = 0;
};

Exhausted exhaust(const Scenario& s, const CostModel& costs, const Space& space) {
  Exhausted out;
  for (const Layout& l : layouts_of(s, space)) {
    const std::optional<Evaluation> e = evaluate(s, costs, l, kNoLimit);
    if (!e) continue;
    ++out.planned;
    if (e->fits()) out.steps.push_back(e->step);
  }
  std::ranges::sort(out.steps);
  out.fit = static_cast<std::int64_t>(out.steps.size());
  return out;
}

SearchResult searched(const Scenario& s, const CostModel& costs, const Space& space,
                      const SearchOptions& options) {
  Bounds bounds(s, costs);
  return search(s, costs, bounds, space, options);
}

Space small_space() {
  Space space;
  space.schedule = {pick(0, 1) == 0 ? Schedule::k1f1b : Schedule::kInterleaved, Schedule::kZbH1};
  space.recompute = {Recompute::kNone, Recompute::kFull};
  space.recompute_layers = {-1, 1};
  space.sequence_parallel = {pick(0, 1) == 0};
  space.reshard = {true};
  space.cp = {1}, space.micro_batch = {1, 2};
  return space;
}

RC_GTEST_PROP(Search, FindsWhatExhaustionFinds, ()) {
  const Case c = searchable();
  Scenario s = scenario_of(c);
  // Memory that a part of the layouts does not fit into.
  const Space space = small_space();
  const std::vector<Layout> all = layouts_of(s, space);
  RC_PRE(!all.empty() && all.size() < 400);
  const auto some_layout = evaluate(
      s, c.costs(),
      all[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(all.size()) - 1))], kNoLimit);
  if (some_layout && c.machine.other_nodes.empty()) s.cluster.device.memory = some_layout->memory;
  const Exhausted expected = exhaust(s, c.costs(), space);
  const auto best = static_cast<std::size_t>(pick(1, 5));
  const SearchResult got = searched(s, c.costs(), space, {.best = best});
  RC_ASSERT(got.best.size() == std::min(best, expected.steps.size()));
  for (std::size_t i = 0; i < got.best.size(); ++i) {
    RC_ASSERT(got.best[i].result.step == expected.steps[i]);
  }
  const Certificate& k = got.certificate;
  RC_ASSERT(k.considered == static_cast<std::int64_t>(all.size()));
  RC_ASSERT(k.open == 0 && k.gap == 0);
  RC_ASSERT(k.refused + k.too_large + k.too_slow + k.does_not_fit + k.simulated == k.considered);
}

RC_GTEST_PROP(Search, ThreadsChangeNothing, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const Space space = small_space();
  const SearchResult one = searched(s, c.costs(), space, {.threads = 1});
  const SearchResult three = searched(s, c.costs(), space, {.threads = 3});
  RC_ASSERT(one.best.size() == three.best.size());
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    RC_ASSERT(one.best[i].layout == three.best[i].layout);
    RC_ASSERT(one.best[i].result.step == three.best[i].result.step);
  }
  RC_ASSERT(one.certificate.simulated == three.certificate.simulated);
  RC_ASSERT(one.certificate.too_slow == three.certificate.too_slow);
}

// Out of budget the answer says how far it may be off, and it is not further.
RC_GTEST_PROP(Search, TheGapHolds, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const Space space = small_space();
  const SearchResult all = searched(s, c.costs(), space, {.best = 1});
  const SearchResult cut = searched(s, c.costs(), space, {.best = 1, .budget = 1});
  RC_PRE(!all.best.empty() && !cut.best.empty());
  const auto exact = static_cast<double>(all.best[0].result.step);
  RC_ASSERT(exact >= static_cast<double>(cut.best[0].result.step) * (1 - cut.certificate.gap) - 1);
}

}  // namespace
}  // namespace plait
