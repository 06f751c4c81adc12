// Which step an event belongs to, how long steps are, and which are left out.
#include "reports/profile/trace_steps.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/reports/made_up_trace.h"

namespace plait::trace_steps_test {

/// Steps of 100 ns on the host and, 1000 ns later, 150 ns on the device with three kernels each.
MadeUpTrace run_ahead(std::int64_t steps) {
  MadeUpTrace out;
  for (std::int64_t s = 0; s < steps; ++s) {
    out.step(7 + s, 100 * s, 100 * s + 90);
    for (std::int64_t k = 0; k < 3; ++k) {
      const std::int64_t start = 1000 + 150 * s + 40 * k;
      out.kernel("gemm", 100 * s + 10 + k, start, start + 30);
    }
  }
  return out;
}

std::string refusal_of(const KinetoTrace& trace) {
  try {
    steps_of(trace);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(TraceSteps, AnEventBelongsToTheStepThatLaunchedIt) {
  const MadeUpTrace m = run_ahead(3);
  const TraceSteps steps = steps_of(m.trace);
  ASSERT_EQ(steps.whole.size(), 3);
  EXPECT_EQ(steps.whole[1].number, 8);
  EXPECT_EQ(steps.whole[1].events, (std::vector<std::uint32_t>{3, 4, 5}));
  EXPECT_EQ(steps.outside, 0);
}

TEST(TraceSteps, AStepEndsWhereTheNextBegins) {
  const MadeUpTrace m = run_ahead(3);
  const TraceSteps steps = steps_of(m.trace);
  EXPECT_EQ(steps.whole[0].length_ns(), 150);
  EXPECT_TRUE(steps.whole[0].followed);
  // The last one: from its first event, 1300, to its last one's end, 1410.
  EXPECT_EQ(steps.whole[2].length_ns(), 110);
  EXPECT_FALSE(steps.whole[2].followed);
  EXPECT_NE(median_step(steps), 2);
}

TEST(TraceSteps, TheOnlyStepIsAsLongAsTheHostSpendsOnIt) {
  MadeUpTrace m;
  m.step(1, 0, 500);
  m.kernel("gemm", 10, 20, 400);
  EXPECT_EQ(steps_of(m.trace).whole.at(0).length_ns(), 500);
}

TEST(TraceSteps, StepsThatWereCutOffAreLeftOut) {
  MadeUpTrace m = run_ahead(4);
  m.trace.events.resize(10);  // of the last step one kernel is left
  const TraceSteps steps = steps_of(m.trace);
  EXPECT_EQ(steps.whole.size(), 3);
  EXPECT_EQ(steps.incomplete, std::vector<std::int64_t>{10});
}

TEST(TraceSteps, WhatIsLaunchedBetweenTwoAnnotationsBelongsToTheFirst) {
  MadeUpTrace m = run_ahead(2);
  m.kernel("gemm", 95, 1125, 1140);
  EXPECT_EQ(steps_of(m.trace).whole[0].events.size(), 4);
}

TEST(TraceSteps, WithoutLaunchesTheDeviceAnnotationsTell) {
  MadeUpTrace m;
  m.step(1, 0, 100), m.step(2, 100, 200);
  m.trace.device_steps = {{1, 1000, 1100}, {2, 1100, 1200}};
  m.kernel("gemm", -1, 1050, 1060);
  m.kernel("gemm", -1, 1150, 1160);
  const TraceSteps steps = steps_of(m.trace);
  ASSERT_EQ(steps.whole.size(), 2);
  EXPECT_EQ(steps.whole[1].events, std::vector<std::uint32_t>{1});
}

TEST(TraceSteps, TheDeviceThatWorksMostIsTheOne) {
  MadeUpTrace m = run_ahead(2);
  m.kernel("other", 50, 1000, 1010).device = 3;
  const TraceSteps steps = steps_of(m.trace);
  EXPECT_EQ(steps.device, 0);
  EXPECT_EQ(steps.other_devices, 1);
  EXPECT_EQ(steps.whole[0].events.size(), 3);
}

TEST(TraceSteps, WithoutAnnotationsOnlyAsManyAsIsSaid) {
  MadeUpTrace m = run_ahead(4);
  m.trace.steps.clear();
  EXPECT_EQ(refusal_of(m.trace), "K013");
  const TraceSteps steps = steps_of(m.trace, 4);
  ASSERT_EQ(steps.whole.size(), 1);
  EXPECT_EQ(steps.as_many, 4);
  EXPECT_EQ(steps.whole[0].events.size(), 12);
}

TEST(TraceSteps, StepsInWhichNothingIsLaunchedAreNone) {
  MadeUpTrace m;
  m.step(1, 0, 100);
  m.kernel("gemm", 5000, 6000, 6100);
  EXPECT_EQ(refusal_of(m.trace), "K013");
}

}  // namespace plait::trace_steps_test
