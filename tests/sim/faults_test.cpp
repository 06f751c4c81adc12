// Faults of the machine in a whole step.
#include <gtest/gtest.h>

#include "sim/simulate.h"
#include "tests/sim/cases.h"

namespace plait::faults_test {

/// Four replicas of tp 4, two in each of two nodes: their gradients cross the fabric.
SimTime step(std::vector<Fault> faults, bool unfold) {
  Case c = small_case(1, 4, 1, 4);
  c.machine.devices_per_node = 8;
  c.machine.nodes = 2;
  c.machine.faults = std::move(faults);
  SimulationOptions options;
  options.unfold = unfold;
  return simulate(c.plan(), c.cluster(), {}, options).timeline.step_time;
}

TEST(Faults, ASlowNicLengthensTheStepOfDataParallelReplicas) {
  EXPECT_GT(step({{.at = "node 1: nic 2", .factor = 0.01}}, false), step({}, false));
}

TEST(Faults, TheSlowerTheNicTheLongerTheStep) {
  EXPECT_GT(step({{.at = "node 1: nic 2", .factor = 0.01}}, false),
            step({{.at = "node 1: nic 2", .factor = 0.02}}, false));
}

TEST(Faults, FoldedEqualsUnfoldedToThePicosecond) {
  for (const Fault& fault :
       {Fault{.at = "node 1: nic 2", .factor = 0.01}, Fault{.at = "node 0: nic 5"},
        Fault{.at = "node 1: device 3", .to = "node 1: nvswitch 0", .factor = 0.1}}) {
    EXPECT_EQ(step({fault}, false), step({fault}, true)) << fault.at;
  }
}

}  // namespace plait::faults_test
