#include "scenarios/placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace plait::placement_test {

using Devices = std::vector<std::int64_t>;

Mesh mesh_of(std::int64_t pp, std::int64_t dp, std::int64_t fsdp, std::int64_t tp) {
  return {{pp, dp, fsdp, 1, 1, 1, tp, 1}};
}

Devices ordered(const std::vector<Axis>& order, const Mesh& mesh) {
  return resolve_placement({.order = order}, mesh, 8).devices;
}

InputError::Text error_of(const PlacementPart& part, const Mesh& mesh, std::int64_t per_node = 8) {
  try {
    resolve_placement(part, mesh, per_node);
  } catch (const InputError& e) {
    return e.text();
  }
  return {.code = "accepted", .problem = ""};
}

bool is_permutation_of_devices(Devices devices, std::int64_t world) {
  Devices all(static_cast<std::size_t>(world));
  std::iota(all.begin(), all.end(), 0);
  std::ranges::sort(devices);
  return devices == all;
}

TEST(Placement, PutsTheFirstAxisOfTheOrderOnNeighbouringDevices) {
  // 2 stages x 4 replicas: with stages innermost, stage s of replica r runs on device 2 r + s.
  const Devices devices = ordered({Axis::kPp, Axis::kDp}, mesh_of(2, 4, 1, 1));
  ASSERT_EQ(devices.size(), 8U);
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(devices[static_cast<std::size_t>(rank)], 2 * (rank % 4) + rank / 4);
  }
}

TEST(Placement, TheOrderOfTheMeshIsNoPlacement) {
  const Placement p = resolve_placement({.order = {Axis::kTp, Axis::kFsdp, Axis::kDp, Axis::kPp}},
                                        mesh_of(2, 2, 3, 4), 8);
  EXPECT_TRUE(p.devices.empty());
  EXPECT_EQ(p.words, "");
}

// A scenario's order names tp; the ranks of it that split an expert are side by side.
TEST(Placement, RanksOfAnExpertAreNeighboursWithinTp) {
  Mesh mesh = mesh_of(2, 1, 1, 2);
  mesh[Axis::kEtp] = 2;
  const Devices devices = ordered({Axis::kPp, Axis::kTp}, mesh);
  // Rank 4 pp + 2 tp + etp on device pp + 2 (2 tp + etp).
  EXPECT_EQ(devices, (Devices{0, 2, 4, 6, 1, 3, 5, 7}));
}

RC_GTEST_PROP(Placement, AnyOrderIsAPermutationThatKeepsEveryStride, ()) {
  Mesh mesh;
  for (std::int64_t& size : mesh.size) size = *rc::gen::inRange<std::int64_t>(1, 4);
  std::vector<Axis> order;
  for (int a = 0; a < kAxes; ++a) order.push_back(static_cast<Axis>(a));
  for (std::size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[*rc::gen::inRange<std::size_t>(0, k)]);
  }
  const Devices devices = ordered(order, mesh);
  if (devices.empty()) return;  // the mesh's own order
  RC_ASSERT(is_permutation_of_devices(devices, mesh.world_size()));
  std::int64_t stride = 1;  // neighbours along the k-th axis are the product of those inside apart
  for (const Axis axis : order) {
    if (mesh[axis] > 1) {
      RC_ASSERT(devices[static_cast<std::size_t>(mesh.stride(axis))] - devices[0] == stride);
    }
    stride *= mesh[axis];
  }
}

RC_GTEST_PROP(Placement, StagesThatShareANodeAreThereWithTheirTensorGroups, ()) {
  const std::int64_t tp = *rc::gen::inRange<std::int64_t>(1, 4);
  const std::int64_t share = *rc::gen::inRange<std::int64_t>(1, 4);
  const std::int64_t in_node = *rc::gen::inRange<std::int64_t>(1, 3);
  const std::int64_t per_node = tp * share * in_node;
  const Mesh mesh = mesh_of(share * *rc::gen::inRange<std::int64_t>(1, 3),
                            in_node * *rc::gen::inRange<std::int64_t>(1, 3), 1, tp);
  const Placement p = resolve_placement({.stages_per_node = share}, mesh, per_node);
  Devices devices = p.devices;
  if (devices.empty()) {
    devices.resize(static_cast<std::size_t>(mesh.world_size()));
    std::iota(devices.begin(), devices.end(), 0);
  }
  RC_ASSERT(is_permutation_of_devices(devices, mesh.world_size()));
  const auto device = [&](std::int64_t rank) { return devices[static_cast<std::size_t>(rank)]; };
  for (std::int64_t rank = 0; rank < mesh.world_size(); ++rank) {
    const Mesh::Coordinates at = mesh.coordinates(rank);
    RC_ASSERT(device(rank) - device(rank - at[5]) == at[5]);  // tp groups side by side
    // The first stage of the node that this stage is in: same replica, same tp coordinate.
    Mesh::Coordinates first = at;
    first[0] -= at[0] % share;
    RC_ASSERT(device(rank) / per_node == device(mesh.rank(first)) / per_node);
    RC_ASSERT(device(rank) - device(mesh.rank(first)) == at[0] % share * tp);
  }
}

TEST(Placement, OneStagePerNodeIsTheOrderOfTheMesh) {
  EXPECT_TRUE(resolve_placement({.stages_per_node = 1}, mesh_of(2, 4, 1, 4), 8).devices.empty());
}

TEST(Placement, AMapIsTakenAsItIs) {
  const Devices map = {2, 0, 3, 1};
  EXPECT_EQ(resolve_placement({.map = map}, mesh_of(2, 1, 1, 2), 8).devices, map);
  EXPECT_TRUE(resolve_placement({.map = {0, 1, 2, 3}}, mesh_of(2, 1, 1, 2), 8).devices.empty());
}

TEST(Placement, WhatCannotBeIsRefusedWithItsCure) {
  const Mesh mesh = mesh_of(4, 2, 1, 2);
  EXPECT_EQ(error_of({.order = {Axis::kTp, Axis::kPp}}, mesh).cure, "add \"dp\"");
  EXPECT_EQ(error_of({.order = {Axis::kTp, Axis::kPp, Axis::kDp, Axis::kTp}}, mesh).code, "S006");
  // 8 devices hold 2 stages of 4 ranks (both tp pairs of a stage) or 4 of 2.
  const InputError::Text stages = error_of({.stages_per_node = 3}, mesh);
  EXPECT_EQ(stages.code, "S007");
  EXPECT_EQ(stages.expected, "one of 2, 4");
  EXPECT_EQ(error_of({.map = {0, 1}}, mesh).code, "S008");
  EXPECT_EQ(error_of({.map = Devices(16, 3)}, mesh).problem,
            "placement.map names the device 3 twice");
  EXPECT_EQ(error_of({.map = Devices(16, 16)}, mesh).problem,
            "placement.map names the device 16 that is not there");
  EXPECT_EQ(error_of({.order = {Axis::kTp}, .stages_per_node = 2}, mesh).code, "S009");
}

}  // namespace plait::placement_test
