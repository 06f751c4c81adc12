// Replicas on slower devices, on other nodes and over other links take their own time for a step.
#include "serving/unlike_replicas.h"

#include <gtest/gtest.h>

#include "serving/priced_pool.h"
#include "tests/serving/served.h"

namespace plait::unlike_replicas_test {

using Alike = std::vector<std::size_t>;

/// Replicas of tp on nodes of 8 H100.
ServedModel replicas(std::int64_t tp, ClusterSpec spec = {}) {
  ServedModel s = served({tp, 1});
  s.cluster = make_cluster(spec);
  s.layout.mesh[Axis::kDp] = s.cluster.world_size() / tp;
  return s;
}
ClusterSpec with_slow(std::int64_t device, double factor = 2) {
  ClusterSpec spec;
  spec.slowdowns = {{device, factor}};
  return spec;
}

TEST(UnlikeReplicas, AreThoseOfOtherDevicesOrLinks) {
  EXPECT_EQ(first_alike(replicas(2)), (Alike{0, 0, 0, 0}));
  EXPECT_EQ(first_alike(replicas(2, with_slow(3))), (Alike{0, 1, 0, 0}));
  EXPECT_EQ(first_alike(replicas(2, with_slow(0))), (Alike{0, 1, 1, 1}));
  ClusterSpec mixed;
  mixed.nodes = 2;
  mixed.other_nodes = {{1, 1, find_node("hgx-h100"), find_device("h200-sxm")}};
  EXPECT_EQ(first_alike(replicas(4, mixed)), (Alike{0, 0, 2, 2}));
  ClusterSpec three;
  three.nodes = 3;
  // 0-5, 6-11 with two of the first node, 12-17 with two of the last, 18-23.
  const ServedModel over_nodes = replicas(6, three);
  EXPECT_EQ(first_alike(over_nodes), (Alike{0, 1, 1, 0}));
}

TEST(UnlikeReplicas, ThatShareExpertsStepTogether) {
  ServedModel s = replicas(2, with_slow(3));
  s.layout.experts = ExpertSharing::kDealt;
  EXPECT_EQ(first_alike(s), (Alike{0, 0, 0, 0}));
}

// A replica's step takes what that of the first takes with its device in the same place.
TEST(UnlikeReplicas, TakeWhatTheFirstWouldOnTheirDevices) {
  const Step step = decode(16, 1000);
  const ServedModel s = replicas(2, with_slow(3));
  EXPECT_EQ(time_step(with_first(s, 0), step).total(), time_step(replicas(2), step).total());
  EXPECT_EQ(time_step(with_first(s, 1), step).total(),
            time_step(replicas(2, with_slow(1)), step).total());
  EXPECT_EQ(time_step(with_first(s, 2), step).total(), time_step(replicas(2), step).total());
}

TEST(UnlikeReplicas, ThoseThatAreAlikeShareWhatIsKnown) {
  EngineLimits limits;
  limits.max_context = 4096;
  PricedPool pool(replicas(2, with_slow(3)), limits, {}, {});
  const Step step = decode(16, 1000);
  EXPECT_EQ(&pool.price(step, 0), &pool.price(step, 2));
  EXPECT_EQ(pool.shapes(), 1U);
  EXPECT_GT(pool.price(step, 1).total(), pool.price(step, 0).total());
  EXPECT_EQ(pool.shapes(), 2U);
}

}  // namespace plait::unlike_replicas_test
