// Told from few microbatches, a step is exactly as long as simulated whole.
#include "search/few_microbatches.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/schedule.h"
#include "tests/search/cases.h"

namespace plait::few_microbatches_test {

SimTime whole(const Scenario& s, const CostModel& costs) {
  return step_of_all(make_plan(s.model, s.workload, s.strategy), s, costs);
}

Scenario with_microbatches(const Case& c, std::int64_t microbatches) {
  Scenario s = scenario_of(c);
  s.workload.global_batch = microbatches * s.strategy.replicas() * s.workload.micro_batch;
  return s;
}

std::optional<SimTime> told_of(const Scenario& s, const CostModel& costs) {
  try {
    return step_of_few(s, costs);
  } catch (const InputError&) {
    return {};
  }
}

RC_GTEST_PROP(FewMicrobatches, TellTheStepOfMany, ()) {
  const Case c = pick(0, 1) == 0 ? any_machine() : searchable();
  const Scenario s = with_microbatches(c, pick(20, 150));
  const std::optional<SimTime> told = told_of(s, c.costs());
  RC_CLASSIFY(told.has_value());
  if (told) RC_ASSERT(*told == whole(s, c.costs()));
}

TEST(FewMicrobatches, TellThatOfSchedulesWithAMiddle) {
  for (const ScheduleKind& kind : kSchedules) {
    Case c = small_case(4, 1, 1, 1);
    c.model.layers = 8;
    c.strategy.pipeline.schedule = kind.schedule, c.strategy.pipeline.chunks = kind.fewest_chunks;
    const Scenario s = with_microbatches(c, 128);
    const std::optional<SimTime> told = told_of(s, c.costs());
    // Passes of one direction come together; the second pipeline's microbatches are numbered from
    // half of all on.
    const bool has_none = kind.schedule == Schedule::kGpipe || is_automatic(kind.schedule) ||
                          kind.shape == PipelineShape::kBothWays;
    EXPECT_EQ(told.has_value(), !has_none) << kind.name;
    EXPECT_EQ(told.value_or(whole(s, c.costs())), whole(s, c.costs())) << kind.name;
  }
}

TEST(FewMicrobatches, AreNoneWhereManyAreFew) {
  const Case c = small_case(4, 1, 1, 1);
  EXPECT_EQ(told_of(with_microbatches(c, 8), c.costs()), std::nullopt);
}

}  // namespace plait::few_microbatches_test
