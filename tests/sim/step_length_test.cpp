// A step that is too long to be counted is refused before it is simulated.
#include "sim/step_length.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/error.h"
#include "tests/sim/draw.h"

namespace plait::step_length_test {

/// The refusal of a case whose NVLinks carry so much; "" if there is none.
std::string refusal(double bytes_per_second, bool flows = false) {
  Case c = small_case(1, 1, 1, 4);
  ClusterSpec spec = c.machine;
  spec.own_node = find_node(spec.preset);
  spec.device = find_device(spec.own_node->device);
  spec.device->nvlink_link_bandwidth = BytesPerSecond(bytes_per_second);
  const Cluster cluster = make_cluster(spec);
  SimulationOptions options;
  if (flows) options.network = make_network(cluster);
  try {
    simulate(c.plan(), cluster, {}, options);
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "S199");
    return e.what();
  }
  return "";
}

// 2 microbatches have 4 layers with 4 all_reduces each: all together take more than 32 times as
// long as one, and between these two is what is counted.
TEST(StepLength, OneOpOrAllTogetherMayBeTooLong) {
  EXPECT_EQ(refusal(1e9), "");
  const std::string one = refusal(1e-5), all = refusal(1e-3);
  EXPECT_NE(one.find("one all_reduce takes"), std::string::npos) << one;
  EXPECT_NE(all.find("one step, op by op, takes"), std::string::npos) << all;
  for (const std::string& text : {one, all, refusal(1e-3, true)}) {
    EXPECT_NE(text.find("nvlink_bandwidth: improve that"), std::string::npos) << text;
  }
}

// What is checked is a bound: a step that passes is counted without overflow.
RC_GTEST_PROP(StepLength, NoStepIsLongerThanItsOpsOneAfterTheOther, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  SimulationOptions options;
  options.placement = c.placement;
  const Simulation sim = simulate(plan, c.cluster(), c.costs(), options);
  RC_ASSERT(to_seconds(sim.timeline.step_time) <=
            longest_step(plan, *sim.durations, sim.lanes->count()) * (1 + 1e-9));
}

}  // namespace plait::step_length_test
