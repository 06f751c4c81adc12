// What compute and communication cost one another: the fit finds the multiprocessors that made the
// times, and the flow engine takes them instead of its own count.

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "costmodel/fit/overlap.h"
#include "costmodel/held_multiprocessors.h"
#include "costmodel/nccl_tuning.h"
#include "tests/costmodel/devices.h"

namespace plait::overlap_fit_test {

constexpr std::int64_t kMultiprocessors = 132;
constexpr double kAlone = 1e-3;

/// Beside an all_reduce of NCCL's, `factor` times as long.
OverlapRow overlapped(Compute op, double factor, std::int64_t size = 1 << 25) {
  OverlapRow row;
  row.op = op, row.transport = "nccl", row.communication = "all_reduce", row.ranks = 8;
  row.size = size, row.multiprocessors = kMultiprocessors, row.covered = true;
  row.compute_alone = {kAlone, kAlone, kAlone};
  row.compute_beside = {factor * kAlone, factor * kAlone, factor * kAlone};
  row.communication_alone = {2e-3, 2e-3, 2e-3};
  row.communication_beside = {2.2e-3, 2.2e-3, 2.2e-3};
  return row;
}
MatMul a_product() { return {.m = 4096, .n = 4096, .k = 4096}; }
Norm a_norm() { return {.rows = 8192, .width = 4096}; }

CalibrationResult fitted(const std::vector<Row>& rows) {
  CalibrationResult out;
  fit_overlap(rows, out);
  return out;
}
const FitQuality& quality_of(const CalibrationResult& result, std::string_view name) {
  for (const FitQuality& q : result.quality) {
    if (q.name == name) return q;
  }
  throw std::runtime_error("no quality of " + std::string(name));
}

/// With 24 of 132 held a product takes 132 / 108 of its time.
TEST(OverlapFit, FindsTheMultiprocessorsThatAreHeld) {
  const double factor = 132.0 / 108;
  const CalibrationResult result =
      fitted({overlapped(a_product(), factor), overlapped(a_product(), factor, 1 << 28),
              overlapped(a_norm(), factor)});
  EXPECT_NEAR(result.calibration.held_multiprocessors.at("all_reduce"), 24, 1e-9);
  const FitQuality& q = quality_of(result, "beside nccl all_reduce");
  EXPECT_EQ(q.fitted_rows, 2);
  EXPECT_EQ(q.held_out_rows, 1);
  EXPECT_NEAR(q.held_out_error, 0, 1e-12);
}

/// The errors of 1.1 and 1.1^3 about their geometric mean 1.1^2 are equal.
TEST(OverlapFit, AFactorTooLongCountsAsMuchAsOneTooShort) {
  const CalibrationResult result =
      fitted({overlapped(a_product(), 1.1), overlapped(a_product(), 1.1 * 1.1 * 1.1, 1 << 28)});
  EXPECT_NEAR(result.calibration.held_multiprocessors.at("all_reduce"),
              kMultiprocessors * (1 - 1 / 1.21), 1e-9);
  EXPECT_NEAR(quality_of(result, "beside nccl all_reduce").fitted_error, std::log(1.1), 1e-12);
}

TEST(OverlapFit, WhatMemoryLimitsJudgesAlone) {
  const CalibrationResult result =
      fitted({overlapped(a_product(), 1.2), overlapped(a_norm(), 1.5)});
  const FitQuality& q = quality_of(result, "beside nccl all_reduce");
  EXPECT_NEAR(q.held_out_error, std::log(1.5 / 1.2), 1e-12);
  EXPECT_NE(q.worst.find("norm"), std::string::npos) << q.worst;
  EXPECT_EQ(fitted({overlapped(a_norm(), 1.5)}).calibration.held_multiprocessors.size(), 0U);
}

TEST(OverlapFit, ComputeThatGetsFasterHoldsNothing) {
  const CalibrationResult result = fitted({overlapped(a_product(), 0.98)});
  EXPECT_EQ(result.calibration.held_multiprocessors.at("all_reduce"), 0);
}

/// In the cost model collectives do not slow down beside compute, nor compute beside copies.
TEST(OverlapFit, WhatIsNotModelledIsJudged) {
  OverlapRow copy = overlapped(a_product(), 1.3);
  copy.transport = copy.communication = "copy";
  const CalibrationResult result = fitted({overlapped(a_product(), 1.2), copy});
  EXPECT_NEAR(quality_of(result, "nccl all_reduce beside compute").held_out_error, std::log(1.1),
              1e-12);
  EXPECT_NEAR(quality_of(result, "beside copy copy").held_out_error, std::log(1.3), 1e-12);
  EXPECT_EQ(result.calibration.held_multiprocessors.size(), 1U);
}

TEST(OverlapFit, RowsThatWereNotCoveredAreLeftOutAndSaid) {
  OverlapRow uncovered = overlapped(a_product(), 3);
  uncovered.covered = false;
  const CalibrationResult result = fitted({overlapped(a_product(), 1.2), uncovered});
  EXPECT_NEAR(result.calibration.held_multiprocessors.at("all_reduce"), 132 - 110, 1e-9);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings[0].text.find("1 overlaps"), std::string::npos);
}

TEST(HeldMultiprocessors, AreTheMeasuredOnesWhereThereAreAny) {
  NodeKind node;
  node.device = h100();
  GroupPlacement island;
  island.ranks = island.ranks_per_node = 8;
  GroupPlacement nodes = island;
  nodes.nodes = 2;
  Calibration measured;
  measured.held_multiprocessors = {{"all_reduce", 17.4}};
  const auto held = [&](CollectiveKind kind, const GroupPlacement& group, const Calibration* c) {
    Collective collective;
    collective.kind = kind;
    return held_multiprocessors(collective, Algorithm::kRing, group, node, c);
  };
  EXPECT_EQ(held(CollectiveKind::kAllReduce, island, &measured), 17);
  for (const auto& [kind, group] : {std::pair{CollectiveKind::kAllGather, island},
                                    std::pair{CollectiveKind::kAllReduce, nodes}}) {
    EXPECT_EQ(held(kind, group, &measured), communicator_channels(nccl_group(kind, group, node)));
    EXPECT_EQ(held(kind, group, &measured), held(kind, group, nullptr));
  }
}

TEST(HeldMultiprocessors, AreDeepEpsOwnAndNoneWhereCopyEnginesMovePieces) {
  NodeKind node;
  node.device = h100();
  GroupPlacement island;
  island.ranks = island.ranks_per_node = 8;
  Collective exchange, piece;
  exchange.kind = CollectiveKind::kAllToAll;
  piece.kind = CollectiveKind::kShift;
  EXPECT_EQ(held_multiprocessors(exchange, Algorithm::kDeepEp, island, node, nullptr), 20);
  EXPECT_EQ(held_multiprocessors(exchange, Algorithm::kPairwise, island, node, nullptr),
            communicator_channels(nccl_group(exchange.kind, island, node)));
  piece.axes = Axis::kTp;
  EXPECT_EQ(held_multiprocessors(piece, Algorithm::kDirect, island, node, nullptr), 0);
  piece.axes = Axis::kCp;
  EXPECT_GT(held_multiprocessors(piece, Algorithm::kDirect, island, node, nullptr), 0);
}

}  // namespace plait::overlap_fit_test
