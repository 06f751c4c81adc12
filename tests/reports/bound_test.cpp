#include "reports/bound.h"

#include <gtest/gtest.h>

#include "tests/reports/made_up.h"

namespace plait::bound_test {

Report spent(const std::string& bound_by, std::vector<Sensitivity> sensitivity) {
  MadeUp m;
  m.explanation.breakdown = {{"compute", "matmul", Seconds(1e-6)}};
  m.explanation.sensitivity = std::move(sensitivity);
  m.explanation.bound_by = bound_by;
  return m.report();
}

TEST(Bound, IsTheHardwareNumberThatTakesMostOfTheCriticalPath) {
  MadeUp m;  // 1.1 us of 3 on peak_flops, 0.3 us on launches; 1 us of bubble
  EXPECT_EQ(bound_of(m.report()), "compute");
  m.explanation.breakdown[3].time = Seconds(1.2e-6);
  EXPECT_EQ(bound_of(m.report()), "pipeline bubble");
  Report one_stage = m.report();
  one_stage.mesh[Axis::kPp] = 1;
  EXPECT_EQ(bound_of(one_stage), "waiting for other ranks");
  EXPECT_EQ(bound_of(spent("", {{"infiniband_latency", Seconds(0.9e-6)}})), "infiniband latency");
}

TEST(Bound, APartIsSaidWithTheNumberThatMostOfItIsSpentOn) {
  const std::vector<Sensitivity> times = {{"peak_flops", Seconds(3e-6)},
                                          {"memory_bandwidth", Seconds(2e-6)},
                                          {"infiniband_latency", Seconds(1e-6)},
                                          {"infiniband_bandwidth", Seconds(2e-6)}};
  EXPECT_EQ(bound_text(spent("communication over fsdp", times)),
            "communication over fsdp (infiniband bandwidth)");
  EXPECT_EQ(bound_text(spent("compute", times)), "compute");
  EXPECT_EQ(bound_text(spent("compute", {{"memory_bandwidth", Seconds(1e-6)}})),
            "compute (memory bandwidth)");
}

TEST(Bound, OfAHostOrABubbleHasNoFurtherNumber) {
  const std::vector<Sensitivity> times = {{"host_issue", Seconds(3e-6)}};
  EXPECT_EQ(bound_text(spent("host", times)), "host");
  EXPECT_EQ(bound_of(spent("host", times)), "host");
  EXPECT_EQ(bound_text(spent("pipeline bubble", times)), "pipeline bubble");
}

}  // namespace plait::bound_test
