// The answer is the best of all layouts, whoever looks for it.
#include "search/search.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "search/refusals.h"
#include "tests/search/cases.h"

namespace plait::search_test {

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

Space small_space() {
  Space space;
  space.schedule = {pick(0, 1) == 0 ? Schedule::k1f1b : Schedule::kInterleaved, Schedule::kZbH1};
  space.recompute = {pick(0, 1) == 0 ? Recompute::kNone : Recompute::kModules, Recompute::kFull};
  space.recompute_layers = {-1, 1};
  space.sequence_parallel = {pick(0, 1) == 0};
  space.reshard = {true};
  space.cp = {1}, space.micro_batch = {1, 2};
  return space;
}

RC_GTEST_PROP(Search, FindsWhatExhaustionFinds, ()) {
  const Case c = searchable();
  Scenario s = scenario_of(c);
  if (c.placement.empty() && pick(0, 2) == 0) s.placement_rule.order = any_order();
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
  const SearchResult got = search(s, c.costs(), space, {.best = best});
  RC_ASSERT(got.best.size() == std::min(best, expected.steps.size()));
  for (std::size_t i = 0; i < got.best.size(); ++i) {
    RC_ASSERT(got.best[i].result.step == expected.steps[i]);
  }
  const Certificate& k = got.certificate;
  RC_ASSERT(k.considered == static_cast<std::int64_t>(all.size()));
  RC_ASSERT(k.open == 0 && k.gap == 0);
  RC_ASSERT(k.refused + k.too_large + k.too_slow + k.simulated == k.considered);
}

RC_GTEST_PROP(Search, ThreadsChangeNothing, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const Space space = small_space();
  const SearchResult one = search(s, c.costs(), space);
  const SearchResult three = search(s, c.costs(), space, {}, 3);
  RC_ASSERT(one.best.size() == three.best.size());
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    RC_ASSERT(one.best[i].layout == three.best[i].layout);
    RC_ASSERT(one.best[i].result.step == three.best[i].result.step);
  }
  RC_ASSERT(one.certificate.simulated == three.certificate.simulated);
  RC_ASSERT(one.certificate.too_slow == three.certificate.too_slow);
}

/// Counts what it is asked to simulate.
class CountingCrew : public Crew {
 public:
  explicit CountingCrew(SearchWork& work) : work_(work) {}
  void ask(const Question& q, std::span<Answer> out, const Heard& heard) override {
    if (q.kind == Question::Kind::kSimulate) simulated += q.layouts.size();
    work_.answer(q, 1, out, heard);
  }
  std::size_t simulated = 0;

 private:
  SearchWork& work_;
};

// A search that was told what another one found before it ended asks for the rest only, and answers
// as if nothing had happened.
RC_GTEST_PROP(Search, WhatIsKnownIsNotSimulatedAgain, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  SearchWork work(s, costs, small_space(), 1);
  CountingCrew first_crew(work), second_crew(work);
  std::vector<std::pair<std::uint32_t, Answer>> heard;
  SearchEars ears{.at_once = [&](std::uint32_t n, const Answer& a) { heard.emplace_back(n, a); },
                  .all_memory = true};
  const SearchResult whole = Searcher(work, first_crew, ears).run({});
  RC_ASSERT(heard.size() == first_crew.simulated);
  const auto known = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(heard.size())));
  Searcher second(work, second_crew, {.all_memory = true});
  for (std::size_t i = 0; i < known; ++i) second.know(heard[i].first, heard[i].second);
  const SearchResult again = second.run({});
  RC_ASSERT(second_crew.simulated == heard.size() - known);
  RC_ASSERT(again.certificate.simulated == whole.certificate.simulated);
  RC_ASSERT(again.best.size() == whole.best.size());
  for (std::size_t i = 0; i < again.best.size(); ++i) {
    RC_ASSERT(again.best[i].number == whole.best[i].number);
    RC_ASSERT(again.best[i].result.step == whole.best[i].result.step);
    RC_ASSERT(again.best[i].result.memory == whole.best[i].result.memory);
  }
}

/// Only those of the best that are no slower than a limit.
void expect_limit_holds(Searcher& searcher) {
  constexpr std::size_t kAsked = 3;
  const SearchResult all = searcher.run({.best = kAsked});
  const std::int64_t last = std::ssize(all.best) - 1;
  const SimTime limit = all.best[static_cast<std::size_t>(pick(0, last))].result.step - pick(0, 1);
  const SearchResult got = searcher.run({.best = kAsked, .slowest = limit});
  std::size_t expected = 0;
  for (const Found& f : all.best) expected += f.result.step <= limit ? 1 : 0;
  RC_ASSERT(got.best.size() == expected);
  for (std::size_t i = 0; i < expected; ++i) RC_ASSERT(got.best[i].number == all.best[i].number);
  RC_ASSERT(got.certificate.open == 0 && got.certificate.gap == 0);
  RC_ASSERT(got.certificate.simulated <= all.certificate.simulated);
}

// A second search of the space, with less memory or a limit of the step, finds what a fresh one
// finds.
RC_GTEST_PROP(Search, ASearcherThatKnowsTheSpaceFindsTheSame, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  const Space space = small_space();
  SearchWork work(s, costs, space, 1);
  ThreadCrew crew(work, 1);
  Searcher searcher(work, crew);
  const SearchResult fastest = searcher.run({.best = 1});
  RC_PRE(!fastest.best.empty());
  expect_limit_holds(searcher);
  const SearchOptions less = {.best = 2, .memory_limit = fastest.best[0].result.memory - Bytes(1)};
  const SearchResult second = searcher.run(less), fresh = search(s, costs, space, less);
  RC_ASSERT(second.best.size() == fresh.best.size());
  for (std::size_t i = 0; i < fresh.best.size(); ++i) {
    RC_ASSERT(second.best[i].number == fresh.best[i].number);
    RC_ASSERT(second.best[i].result.memory == fresh.best[i].result.memory);
  }
}

// Why layouts are refused is told of as many as are.
RC_GTEST_PROP(Search, EachRefusedLayoutHasAReason, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  SearchWork work(s, costs, small_space(), 1);
  ThreadCrew crew(work, 1);
  const SearchResult found = Searcher(work, crew).run({});
  std::int64_t told = 0;
  for (const Refusal& r : refusals(work, found.refused, 1)) told += r.layouts;
  RC_ASSERT(std::ssize(found.refused) == found.certificate.refused);
  RC_ASSERT(told == found.certificate.refused);
}

// A budget is of new simulations: what one search has simulated costs the next, of less memory,
// nothing.
RC_GTEST_PROP(Search, ABudgetBoundsWhatIsSimulatedAnew, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  SearchWork work(s, costs, small_space(), 1);
  CountingCrew crew(work);
  Searcher searcher(work, crew, {.all_memory = true});
  const SearchResult first = searcher.run({.best = 1});
  RC_PRE(!first.best.empty());
  RC_ASSERT(static_cast<std::size_t>(searcher.simulated()) == crew.simulated);
  const std::int64_t before = searcher.simulated(), budget = pick(0, 3);
  const Bytes less = first.best[0].result.memory - Bytes(1);
  const SearchResult next = searcher.run({.best = 1, .memory_limit = less, .budget = budget});
  RC_ASSERT(searcher.simulated() - before <= budget);
  RC_ASSERT(static_cast<std::size_t>(searcher.simulated()) == crew.simulated);
  if (next.certificate.open > 0) RC_ASSERT(searcher.simulated() - before == budget);
}

// Stopped before anything is bounded it answers with what is thought to be good, and says that all
// else is undecided.
RC_GTEST_PROP(Search, StoppedBeforeItsBoundsItSimulatesTheGuesses, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  const Space space = small_space();
  const std::vector<Layout> all = layouts_of(s, space);
  RC_PRE(!all.empty());
  const Layout guess = all[static_cast<std::size_t>(pick(0, std::ssize(all) - 1))];
  const std::optional<Evaluation> expected = evaluate(s, costs, guess, kNoLimit);
  RC_PRE(expected.has_value());  // its && evaluates both
  RC_PRE(expected->fits());
  const std::atomic<bool> stop{true};
  const SearchOptions stopped = {.stop = &stop,
                                 .guesses = [&] { return std::vector<Layout>{guess}; }};
  const SearchResult got = search(s, costs, space, stopped);
  RC_ASSERT(got.best.size() == 1 && got.best[0].result.step == expected->step);
  RC_ASSERT(got.certificate.simulated == 1);
  RC_ASSERT(got.certificate.open == got.certificate.considered - 1);
  RC_ASSERT(got.certificate.open == 0 || std::isinf(got.certificate.gap));
}

std::vector<SimTime> steps_of(const std::vector<Found>& found) {
  std::vector<SimTime> out;
  for (const Found& f : found) out.push_back(f.result.step);
  return out;
}

// Out of budget the guesses are simulated, each once, whatever is known of them from before, and
// what is undecided is what is left within the limit that they make.
RC_GTEST_PROP(Search, OutOfBudgetTheGuessesAreDecidedAndCountedOnce, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const CostModel costs = c.costs();
  const Space space = small_space();
  SearchWork work(s, costs, space, 1);
  const auto& all = work.layouts();
  RC_PRE(!all.empty());
  const auto any = [&] { return all[static_cast<std::size_t>(pick(0, std::ssize(all) - 1))]; };
  const std::vector<Layout> guesses = {any(), any(), any()};
  const auto best = static_cast<std::size_t>(pick(1, 3));
  const SearchOptions cut = {
      .best = best, .budget = pick(0, 4), .guesses = [&] { return guesses; }};
  CountingCrew crew(work);
  Searcher searcher(work, crew);
  const SearchResult first = searcher.run(cut), again = searcher.run(cut);
  for (const SearchResult* r : {&first, &again}) {
    const Certificate& k = r->certificate;
    RC_ASSERT(k.refused + k.too_large + k.too_slow + k.simulated + k.open == k.considered);
    std::set<std::int64_t> listed;
    for (const Found& f : r->best) RC_ASSERT(listed.insert(f.number).second);
    if (k.open > 0) continue;
    RC_ASSERT(steps_of(r->best) == steps_of(search(s, costs, space, {.best = best}).best));
  }
  // What the first has found the second has not lost.
  RC_ASSERT(first.best.empty() ||
            (!again.best.empty() && again.best[0].result.step <= first.best[0].result.step));
}

// Out of budget the answer says how far it may be off, and it is not further.
RC_GTEST_PROP(Search, TheGapHolds, ()) {
  const Case c = searchable();
  const Scenario s = scenario_of(c);
  const Space space = small_space();
  const SearchResult all = search(s, c.costs(), space, {.best = 2});
  const SearchResult cut = search(s, c.costs(), space, {.best = 2, .budget = 2});
  RC_PRE(!all.best.empty() && !cut.best.empty());
  const Certificate& k = cut.certificate;
  const auto at_least = [](const Found& found, double gap) {
    return static_cast<double>(found.result.step) * (1 - gap) - 1;
  };
  RC_ASSERT(static_cast<double>(all.best[0].result.step) >= at_least(cut.best[0], k.gap));
  if (cut.best.size() < 2) return;
  RC_ASSERT(static_cast<double>(all.best[1].result.step) >= at_least(cut.best[1], k.gap_of_last));
}

// Whatever room there is on devices.
TEST(Search, HoldsWhatLeavesDevicesAgainstTheirHosts) {
  Scenario s = parse_scenario(R"({"model": "gpt2", "cluster": "dgx-a100", "strategy": {"offload":
                                  "cpu"}, "workload": {"sequence_length": 128,
                                  "global_batch": 8, "micro_batch": 1}})",
                              "x");
  CostModel costs;
  costs.machine.processor = s.processor;
  const Layout layout = layout_of(s.strategy, s.workload);
  const std::optional<Evaluation> roomy = evaluate(s, costs, layout, kNoLimit);
  ASSERT_TRUE(roomy && roomy->fits());
  s.processor.memory = Bytes(1'000'000);
  const std::optional<Evaluation> tight = evaluate(s, costs, layout, kNoLimit);
  ASSERT_TRUE(tight);
  EXPECT_FALSE(tight->fits());
}

}  // namespace plait::search_test
