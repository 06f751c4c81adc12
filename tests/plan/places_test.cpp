// Ranks of stages that differ in their tensor-parallel degree: who they are, whom they meet.
#include "plan/places.h"

#include <gtest/gtest.h>

namespace plait::places_test {

using Ranks = std::vector<std::int64_t>;

/// Stages of degrees 4, 2 and 1, two replicas. By replica, the ranks of the stages are
///   0 1 2 3 and 4 5 6 7,  8 9 and 10 11,  12 and 13.
Plan three_stages() {
  Plan plan;
  plan.mesh[Axis::kPp] = 3, plan.mesh[Axis::kDp] = 2, plan.mesh[Axis::kTp] = 4;
  plan.stage_tp = {4, 2, 1};
  return plan;
}

TEST(Places, AStageHasAsManyRanksOfAReplicaAsItsDegree) {
  const Plan plan = three_stages();
  EXPECT_EQ(rank_count(plan), 2 * (4 + 2 + 1));
  for (std::int64_t s : {0, 1, 2}) {
    const std::int64_t tp = plan.stage_tp[static_cast<std::size_t>(s)];
    EXPECT_EQ(ranks_of_stage(plan, s), 2 * tp);
    EXPECT_EQ(mesh_of(plan, s)[Axis::kTp], tp);
    EXPECT_EQ(mesh_of(plan, s)[Axis::kDp], 2);
  }
}

TEST(Places, ARankStandsAtAllPlacesThatWiderStagesDivide) {
  const Plan plan = three_stages();
  Ranks at;
  for (std::int64_t place = 0; place < plan.mesh.world_size(); ++place) {
    at.push_back(rank_at(plan, place));
  }
  EXPECT_EQ(at, (Ranks{0,  1,  2,  3,  4,  5,  6,  7,  8,  8,  9,  9,
                       10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13}));
  for (std::int64_t r = 0; r < rank_count(plan); ++r) {
    const std::int64_t first = first_place_of(plan, r);
    EXPECT_EQ(at[static_cast<std::size_t>(first)], r);
    EXPECT_TRUE(first == 0 || at[static_cast<std::size_t>(first - 1)] != r);
    EXPECT_EQ(stage_of_rank(plan, r), r < 8 ? 0 : r < 12 ? 1 : 2);
  }
}

TEST(Places, CoordinatesAreThoseOfTheStagesOwnMesh) {
  const Plan plan = three_stages();
  const Mesh::Coordinates at = coordinates_of(plan, 11);  // stage 1, replica 1, the second of two
  EXPECT_EQ(at, (Mesh::Coordinates{1, 1, 0, 0, 0, 0, 1, 0}));
}

TEST(Places, GroupsNameEachRankOnce) {
  const Plan plan = three_stages();
  EXPECT_EQ(members(plan, 10, Axis::kTp, Stages::kAll), (Ranks{10, 11}));
  EXPECT_EQ(members(plan, 12, Axis::kTp, Stages::kAll), (Ranks{12}));
  EXPECT_EQ(members(plan, 9, Axis::kDp, Stages::kAll), (Ranks{9, 11}));
  EXPECT_EQ(members(plan, 9, AxisSet(Axis::kPp) | Axis::kTp, Stages::kAll),
            (Ranks{0, 1, 2, 3, 8, 9, 12}));
}

TEST(Places, PeersShareAPlace) {
  const Plan plan = three_stages();
  EXPECT_EQ(peers(plan, 3, Axis::kPp, 1), (Ranks{9}));
  EXPECT_EQ(peers(plan, 9, Axis::kPp, -1), (Ranks{2, 3}));
  EXPECT_EQ(peers(plan, 9, Axis::kPp, 1), (Ranks{12}));
  EXPECT_EQ(peers(plan, 13, Axis::kPp, -1), (Ranks{10, 11}));
}

TEST(Places, AlikeStagesHaveOnePlaceForEachRank) {
  Plan plan = three_stages();
  plan.stage_tp.clear();
  for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) {
    EXPECT_EQ(rank_at(plan, r), r);
    EXPECT_EQ(coordinates_of(plan, r), plan.mesh.coordinates(r));
    EXPECT_EQ(peers(plan, r, Axis::kPp, 1), Ranks{plan.mesh.neighbour(r, Axis::kPp, 1)});
  }
  EXPECT_TRUE(devices_of_places(plan, {}).empty());
}

TEST(Places, HaveTheDevicesOfTheirRanks) {
  Plan plan;
  plan.mesh[Axis::kPp] = 2, plan.mesh[Axis::kTp] = 2;
  plan.stage_tp = {2, 1};
  EXPECT_EQ(devices_of_places(plan, {}), (Ranks{0, 1, 2, 2}));
  EXPECT_EQ(devices_of_places(plan, {2, 0, 1}), (Ranks{2, 0, 1, 1}));
}

}  // namespace plait::places_test
