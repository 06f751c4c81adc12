// Told from few microbatches, a step is exactly as long as simulated whole.
#include "search/few_microbatches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "costmodel/stage_use.h"
#include "plan/schedule.h"
#include "tests/search/cases.h"

namespace plait::few_microbatches_test {

SimTime whole(const Scenario& s, const CostModel& costs) {
  return step_of_all(make_plan(s.model, s.workload, s.strategy), s, costs).step;
}

Scenario with_microbatches(const Case& c, std::int64_t microbatches) {
  Scenario s = scenario_of(c);
  s.workload.global_batch = microbatches * s.strategy.replicas() * s.workload.micro_batch;
  return s;
}

std::optional<ToldStep> told_of(const Scenario& s, const CostModel& costs) {
  try {
    return step_of_few(s, costs);
  } catch (const InputError&) {
    return {};
  }
}

/// To the last bit.
std::string text_of(const Explanation& e) {
  std::string out = e.bound_by;
  const auto add = [&](const std::string& name, Seconds time) {
    out += fmt::format("\n{} {:a}", name, time.value);
  };
  for (const Share& s : e.breakdown) add(s.group + " " + s.name, s.time);
  for (const Share& s : e.critical_path) add("path " + s.group + " " + s.name, s.time);
  for (const Sensitivity& s : e.sensitivity) add(s.resource, s.time);
  return out;
}

std::string whole_explanation(const Plan& plan, const Scenario& s, const CostModel& costs) {
  return text_of(explain(
      plan, simulate(plan, s.cluster, costs,
                     {.interference = s.interference, .record = true, .placement = s.placement})));
}

/// Of every stage: what is live and when, and all that comes on top.
std::string text_of(const std::vector<StageUse>& uses) {
  std::string out;
  for (const StageUse& use : uses) {
    out += "stage " + std::to_string(use.live.peak_op);
    for (const LiveTensor& t : use.live.at_peak) {
      out += " " + std::to_string(t.tensor) + "*" + std::to_string(t.count) + "=" +
             std::to_string(t.bytes.value);
    }
    for (const Bytes b : use.live.by_class) out += " " + std::to_string(b.value);
    for (const MemoryItem& item : use.overheads) {
      out += " " + item.name + "=" + std::to_string(item.bytes.value);
    }
    out += " " + std::to_string(use.bytes().value) + "\n";
  }
  return out;
}

RC_GTEST_PROP(FewMicrobatches, TellTheStepOfMany, ()) {
  const Case c = pick(0, 1) == 0 ? any_machine() : searchable();
  const Scenario s = with_microbatches(c, pick(20, 150));
  const std::optional<ToldStep> told = told_of(s, c.costs());
  RC_CLASSIFY(told.has_value());
  if (!told) return;
  RC_ASSERT(told->step == whole(s, c.costs()));
  const Plan plan = make_plan(s.model, s.workload, s.strategy);
  RC_ASSERT(text_of(explain(told->few, told->run, told->further)) ==
            whole_explanation(plan, s, c.costs()));
  const auto uses = stage_uses_of_longer(told->few, s.cluster, s.placement, s.memory, s.kernels,
                                         told->microbatches);
  RC_CLASSIFY(uses.has_value(), "memory too");
  if (!uses) return;
  RC_ASSERT(text_of(*uses) ==
            text_of(stage_uses(plan, s.cluster, s.placement, s.memory, s.kernels)));
}

TEST(FewMicrobatches, TellThatOfSchedulesWithAMiddle) {
  for (const ScheduleKind& kind : kSchedules) {
    Case c = small_case(4, 1, 1, 1);
    c.model.layers = 8;
    c.strategy.pipeline.schedule = kind.schedule, c.strategy.pipeline.chunks = kind.fewest_chunks;
    const Scenario s = with_microbatches(c, 128);
    const std::optional<ToldStep> told = told_of(s, c.costs());
    // Passes of one direction come together; the second pipeline's microbatches are numbered from
    // half of all on.
    const bool has_none = kind.schedule == Schedule::kGpipe || is_automatic(kind.schedule) ||
                          kind.shape == PipelineShape::kBothWays;
    EXPECT_EQ(told.has_value(), !has_none) << kind.name;
    const std::int64_t fewest = fewest_microbatches(s.strategy, 128);
    EXPECT_EQ(fewest < 128, !has_none) << kind.name;
    if (told) {
      EXPECT_GE(told->few.microbatches, fewest) << kind.name;
      EXPECT_EQ(told->step, whole(s, c.costs())) << kind.name;
    }
  }
}

// Every pass of the last stage, which has the head, takes a little longer than those of the others:
// what waits for it grows with each microbatch until the first stage waits too.
TEST(FewMicrobatches, AreMoreWhereAQueueFillsSlowly) {
  Case c = small_case(4, 1, 1, 1);
  c.model.layers = 64;
  c.strategy.pipeline.schedule = Schedule::kZbH1;
  const Scenario s = with_microbatches(c, 400);
  const std::optional<ToldStep> told = told_of(s, c.costs());
  ASSERT_TRUE(told.has_value());
  EXPECT_GT(told->few.microbatches, 8 * 4);
  EXPECT_EQ(told->step, whole(s, c.costs()));
}

TEST(FewMicrobatches, AreNoneWhereManyAreFew) {
  const Case c = small_case(4, 1, 1, 1);
  const Scenario s = with_microbatches(c, 8);
  EXPECT_FALSE(told_of(s, c.costs()).has_value());
  EXPECT_EQ(fewest_microbatches(s.strategy, 8), 8);
}

}  // namespace plait::few_microbatches_test
