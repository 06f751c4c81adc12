// What an op waits for on the communication thread, read off the plan.
#include <gtest/gtest.h>

#include "realrun/walk.h"
#include "tests/realrun/verify_models.h"

namespace plait::issue_order_test {

TEST(IssueOrder, ACallWithoutOpsWaitsForNothing) {
  Strategy s;
  s.mesh[Axis::kTp] = 2;
  Plan plan = make_plan(small_llama(), small_workload(), s);
  const auto before = communication_before(plan, 0);
  ASSERT_EQ(static_cast<std::int64_t>(before.size()), op_count(plan, 0));
  // A call that is to start behind the first one, but has nothing to start: in the middle and last.
  plan.blocks.push_back({});
  Call empty;
  empty.block = static_cast<decltype(empty.block)>(plan.blocks.size() - 1);
  empty.after = 0;
  std::vector<Call>& calls = plan.programs[0].calls;
  calls.insert(calls.begin() + 1, empty);
  calls.push_back(empty);
  for (std::size_t c = 2; c < calls.size(); ++c) {
    if (calls[c].after >= 1) ++calls[c].after;
  }
  EXPECT_EQ(communication_before(plan, 0), before);
}

}  // namespace plait::issue_order_test
