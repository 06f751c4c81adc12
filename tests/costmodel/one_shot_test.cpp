// All-reduces of serving engines: the form, and the rows that were not fitted.
//   PLAIT_DATA=... costmodel_test --gtest_filter='OneShot.*'
#include "costmodel/one_shot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/transfer.h"
#include "tests/costmodel/measured_collectives.h"

namespace plait::one_shot_test {

Collective all_reduce(std::int64_t bytes) {
  Collective c;
  c.axes = Axis::kTp, c.elements = bytes / size_of(c.dtype);
  return c;
}

TEST(OneShot, TakesTheCheaperOfOneAndTwoShots) {
  const OneShotFit fit{5, 0, 100, 10, 100};
  const double small = 1e4, large = 8e6;  // bytes; 7 S / B1 against e + 14 / 8 S / B2
  EXPECT_NEAR(one_shot_time(fit, 8, Bytes(static_cast<std::int64_t>(small))).value,
              5e-6 + 7 * small / 100e9, 1e-12);
  EXPECT_NEAR(one_shot_time(fit, 8, Bytes(static_cast<std::int64_t>(large))).value,
              15e-6 + 1.75 * large / 100e9, 1e-12);
}

TEST(OneShot, IsUsedWhereItIsFasterThanNcclAndOnlyWhenAskedFor) {
  const Device device = h100();
  const GroupPlacement group = island(device, 8);
  CostModel nccl, engine;
  engine.engine_all_reduce = EngineReduce::kVllm;
  const Collective small = all_reduce(64 << 10), large = all_reduce(64 << 20);
  const Cluster cluster = cluster_of(device);
  EXPECT_EQ(engine.collective(small, group, cluster).algorithm, Algorithm::kOneShot);
  EXPECT_LT(engine.collective(small, group, cluster).cost.total(),
            nccl.collective(small, group, cluster).cost.total());
  EXPECT_NE(nccl.collective(small, group, cluster).algorithm, Algorithm::kOneShot);
  EXPECT_EQ(engine.collective(large, group, cluster).algorithm,
            nccl.collective(large, group, cluster).algorithm);
}

// llama.cpp's split by rows: a device sends to and hears from each other one in turn.
TEST(PeerCopies, AreAMessageForEachOtherDevice) {
  const Device device = h100();
  const Cluster cluster = cluster_of(device);
  CostModel costs;
  costs.one_peer_at_a_time = true;
  const auto takes = [&](CollectiveKind kind, std::int64_t ranks) {
    Collective c = all_reduce(1 << 20);
    c.kind = kind, c.axes = Axis::kTp;
    return costs.collective(c, island(device, ranks), cluster).cost.total();
  };
  const Path& link = island(device, 2).intra;
  const auto message = [&](std::int64_t bytes) { return message_cost(Bytes(bytes), link).total(); };
  for (const std::int64_t n : {2, 4, 8}) {
    const double others = static_cast<double>(n - 1);
    EXPECT_NEAR(takes(CollectiveKind::kBroadcast, n) / (others * message(1 << 20)), 1, 1e-9);
    EXPECT_NEAR(takes(CollectiveKind::kAllGather, n) / (others * message((1 << 20) / n)), 1, 1e-9);
  }
}

struct EngineTable {
  EngineReduce engine;
  std::string name;
};

/// Mean error of the 3 of 10 rows of an engine's table that were not fitted.
double mean_error(const MeasuredMachine& machine, const EngineTable& of,
                  const std::vector<Record>& rows) {
  double error = 0;
  int n = 0, row = 0;
  for (const Record& r : rows) {
    const Bytes bytes(2 * std::stoll(r.at("message_size")));  // counted in elements
    const bool eager = r.contains("backend") && !r.at("backend").ends_with("graph");
    if (eager || bytes > kLargestOneShot) continue;
    if (row++ % 10 < 7) continue;
    const GroupPlacement group = island(machine.device, std::stoll(r.at("num_gpus")));
    const auto cost = one_shot_cost(of.engine, bytes, group, machine.device);
    error +=
        std::abs(std::log(cost.value().total().value / (std::stod(r.at("latency_us")) * 1e-6)));
    ++n;
  }
  return error / n;
}

TEST(OneShot, PredictsTheRowsThatWereNotFitted) {
  const auto kernels = kernel_data();
  if (!kernels) GTEST_SKIP() << kSkip;
  const EngineTable engines[] = {{EngineReduce::kVllm, "vllm"},
                                 {EngineReduce::kTensorRtLlm, "trtllm"}};
  for (const MeasuredMachine& machine : machines()) {
    for (const EngineTable& of : engines) {
      const auto found =
          tables(*kernels / "aiconfigurator" / machine.folder, "custom_allreduce_perf__" + of.name);
      ASSERT_FALSE(found.empty());
      const double error = mean_error(machine, of, read_table(found.back()));
      fmt::print("one shot, {}, {}: mean error {:.1f} %\n", of.name, machine.name, 100 * error);
      EXPECT_LT(error, 0.20);
    }
  }
}

}  // namespace plait::one_shot_test
