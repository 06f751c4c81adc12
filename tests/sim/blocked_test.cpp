// A plan that cannot make progress is refused with the place of each stage.
#include <gtest/gtest.h>

#include "core/error.h"
#include "sim/simulate.h"
#include "tests/sim/hand_made.h"

namespace plait::blocked_test {

std::string diagnosis(const Plan& plan) {
  try {
    simulate(plan, ideal_machine(plan.mesh.world_size()), {});
  } catch (const InternalError& e) {
    return e.what();
  }
  return "";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Blocked, CrossedMessagesAreNamedByStageAndOp) {
  const std::string text = diagnosis(crossed_messages());
  EXPECT_TRUE(contains(text, "stage 0 waits at take_gradient, recv")) << text;
  EXPECT_TRUE(contains(text, "stage 1 waits at take_x, recv")) << text;
}

TEST(Blocked, AStageThatFinishedIsNotNamed) {
  Plan plan = two_stages();
  plan.programs[0].calls.pop_back();  // the send
  const std::string text = diagnosis(plan);
  EXPECT_FALSE(contains(text, "stage 0")) << text;
  EXPECT_TRUE(contains(text, "stage 1 waits at recv, recv")) << text;
}

TEST(Blocked, ACollectiveThatOneStageNeverJoinsNamesTheOthers) {
  Plan plan = empty_plan(2, 1, 1);
  plan.tensors = {tensor("norm", Scope::kRole)};
  Collective sum;
  sum.axes = Axis::kPp;
  sum.elements = 1;
  plan.blocks = {{"sum", {{sum, Stream::kGradSync, Phase::kOptimizer, {{0, Use::kUpdate, 0}}}}},
                 {"work", {kernel(matmul(1), {{0, Use::kWrite, 0}})}}};
  plan.programs[0].calls = {{.block = 1}, {.block = 0}};
  plan.programs[1].calls = {{.block = 1}};
  const std::string text = diagnosis(plan);
  EXPECT_TRUE(contains(text, "stage 0 waits at sum, all_reduce")) << text;
  EXPECT_TRUE(contains(text, "for other stages to join")) << text;
  EXPECT_FALSE(contains(text, "stage 1")) << text;
}

TEST(Blocked, TheSameMessagesInOrderAreFine) { EXPECT_EQ(diagnosis(two_stages()), ""); }

TEST(Blocked, AWorldThatIsNotTheClustersIsTheUsersFault) {
  EXPECT_THROW(simulate(two_stages(), ideal_machine(3), {}), InputError);
}

}  // namespace plait::blocked_test
