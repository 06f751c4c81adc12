#include "plan/mesh.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace plait::mesh_test {

using Ranks = std::vector<std::int64_t>;

/// pp = dp = tp = 2: rank = 4 pp + 2 dp + tp.
Mesh cube() { return {{2, 2, 1, 1, 1, 1, 2, 1}}; }

TEST(Mesh, TpNeighboursAreAdjacentRanks) {
  EXPECT_EQ(cube().group(5, Axis::kTp), (Ranks{4, 5}));
  EXPECT_EQ(cube().stride(Axis::kTp), 1);
}

TEST(Mesh, PipelineStagesAreTheOutermostBlocks) {
  EXPECT_EQ(cube().group(5, Axis::kPp), (Ranks{5 - 4, 5}));
  EXPECT_EQ(cube().stride(Axis::kPp), 2 * 2);
}

TEST(Mesh, StrideIsTheProductOfInnerSizes) {
  const Mesh mesh{{2, 3, 5, 1, 1, 1, 7, 1}};
  EXPECT_EQ(mesh.stride(Axis::kFsdp), 7);
  EXPECT_EQ(mesh.stride(Axis::kDp), 5 * 7);
  EXPECT_EQ(mesh.stride(Axis::kPp), 3 * 5 * 7);
}

TEST(Mesh, GroupOverTwoAxesVariesBothAndIsAscending) {
  // Rank 5 is (pp 1, dp 0, tp 1): dp stays 0, so 4 pp + tp for pp, tp in {0, 1}.
  EXPECT_EQ(cube().group(5, AxisSet(Axis::kPp) | Axis::kTp), (Ranks{0, 1, 4, 5}));
}

TEST(Mesh, GroupOverNoAxisIsTheRankItself) { EXPECT_EQ(cube().group(5, AxisSet()), Ranks{5}); }

TEST(Mesh, NeighbourWrapsAroundItsAxisOnly) {
  const Mesh mesh{{3, 1, 1, 1, 1, 1, 2, 1}};
  EXPECT_EQ(mesh.neighbour(5, Axis::kPp, 1), 1);   // (2, 1) -> (0, 1)
  EXPECT_EQ(mesh.neighbour(1, Axis::kPp, -1), 5);  // and back
  EXPECT_EQ(mesh.neighbour(1, Axis::kPp, -4), 5);  // more than once around
}

// Ranks that split an expert are side by side within those that split the rest of a layer.
TEST(Mesh, ExpertTensorRanksAreInnermost) {
  const Mesh mesh{{1, 1, 1, 1, 1, 2, 2, 2}};
  EXPECT_EQ(mesh.group(5, Axis::kEtp), (Ranks{4, 5}));
  EXPECT_EQ(mesh.group(5, kTensorAxes), (Ranks{4, 5, 6, 7}));
  EXPECT_EQ(mesh.group(5, AxisSet(Axis::kEp) | Axis::kTp), (Ranks{1, 3, 5, 7}));
  EXPECT_EQ(mesh.present(kTensorAxes | kContextAxes), kTensorAxes);
}

TEST(Mesh, RankOutsideIsRefused) { EXPECT_ANY_THROW(cube().coordinates(8)); }

TEST(AxisSet, NamesAreInMeshOrder) {
  EXPECT_EQ(name_of(AxisSet(Axis::kTp) | Axis::kDp), "dp+tp");
  EXPECT_EQ(name_of(AxisSet()), "");
}

TEST(AxisSet, IntersectionIsWhatBothHave) {
  EXPECT_EQ((AxisSet(Axis::kTp) | Axis::kDp) & kTensorAxes, AxisSet(Axis::kTp));
}

TEST(AxisSet, DifferenceTakesAway) {
  EXPECT_EQ((AxisSet(Axis::kTp) | Axis::kDp) - Axis::kTp, AxisSet(Axis::kDp));
  EXPECT_TRUE((AxisSet(Axis::kTp) - Axis::kTp).empty());
}

Mesh any_mesh() {
  Mesh mesh;
  for (std::int64_t& n : mesh.size) n = *rc::gen::inRange<std::int64_t>(1, 5);
  return mesh;
}
std::int64_t any_rank(const Mesh& mesh) {
  return *rc::gen::inRange<std::int64_t>(0, mesh.world_size());
}
AxisSet any_axes() {
  AxisSet axes;
  for (int i = 0; i < kAxes; ++i) {
    if (*rc::gen::arbitrary<bool>()) axes = axes | static_cast<Axis>(i);
  }
  return axes;
}

RC_GTEST_PROP(MeshProperty, CoordinatesAndRankAreInverse, ()) {
  const Mesh mesh = any_mesh();
  const std::int64_t rank = any_rank(mesh);
  RC_ASSERT(mesh.rank(mesh.coordinates(rank)) == rank);
}

RC_GTEST_PROP(MeshProperty, GroupsPartitionTheRanks, ()) {
  const Mesh mesh = any_mesh();
  const AxisSet axes = any_axes();
  const Ranks group = mesh.group(any_rank(mesh), axes);
  RC_ASSERT(static_cast<std::int64_t>(group.size()) == mesh.size_of(axes));
  RC_ASSERT(std::is_sorted(group.begin(), group.end()));
  for (std::int64_t member : group) RC_ASSERT(mesh.group(member, axes) == group);
}

RC_GTEST_PROP(MeshProperty, NeighbourMovesOneCoordinate, ()) {
  const Mesh mesh = any_mesh();
  const std::int64_t rank = any_rank(mesh);
  const auto i = static_cast<std::size_t>(*rc::gen::inRange(0, kAxes));
  const std::int64_t offset = *rc::gen::inRange<std::int64_t>(0, mesh.size[i]);
  Mesh::Coordinates at = mesh.coordinates(rank);
  at[i] = (at[i] + offset) % mesh.size[i];
  RC_ASSERT(mesh.neighbour(rank, static_cast<Axis>(i), offset) == mesh.rank(at));
}

}  // namespace plait::mesh_test
