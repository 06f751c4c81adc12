// DeepEP's exchange: its closed form, and the rows that were not fitted.
//   PLAIT_DATA=... costmodel_test --gtest_filter='DeepEp.*'
#include "costmodel/deepep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "costmodel/costmodel.h"
#include "tests/costmodel/measured_collectives.h"

namespace plait::deepep_test {

Device with_nvlink(Device d) {
  d.nvlink_links = 18;
  return d;
}

/// `tokens` of `width` elements to `chosen` of `experts` each.
Collective exchange(std::int64_t tokens, std::int64_t width, std::int64_t chosen,
                    std::int64_t experts) {
  Collective c;
  c.kind = CollectiveKind::kAllToAll, c.axes = Axis::kEp;
  c.tokens = {chosen, experts, width};
  c.elements = tokens * chosen * width;
  return c;
}

// Of 4 experts, 2 on each of 2 ranks, a token chooses 2: of the 6 pairs 2 are of one rank.
TEST(DeepEp, CountsTheGroupsThatATokenMeets) {
  EXPECT_DOUBLE_EQ(groups_met(2, 4, 2), (2 * 1 + 4 * 2) / 6.0);
  EXPECT_DOUBLE_EQ(groups_met(8, 64, 1), 1);
  EXPECT_DOUBLE_EQ(groups_met(1, 64, 8), 1);
  EXPECT_DOUBLE_EQ(groups_met(8, 8, 8), 8) << "all of them";
  EXPECT_DOUBLE_EQ(groups_met(8, 8, 3), 3) << "an expert each";
}

// a + T (c + h w (D + d) / R), the mean of there and back.
TEST(DeepEp, TakesWhatItsFormSays) {
  const Device device = with_nvlink(h100());
  const DeepEpFits f = deepep_fits(Generation::kHopper);
  const double tokens = 4096, row = 7168 * 2, met = groups_met(8, 256, 8);
  const auto one = [&](const DeepEpFit& fit) {
    return fit.start_us * 1e-6 +
           tokens * (fit.token_ns * 1e-9 + row * (met + fit.own) / (fit.rate_gbps * 1e9));
  };
  const auto cost = deepep_cost(exchange(4096, 7168, 8, 256), island(device, 8), device);
  ASSERT_TRUE(cost.has_value());
  EXPECT_NEAR(cost->total().value, (one(f.dispatch) + one(f.combine)) / 2, 1e-9);
}

// Over four nodes a token of 8 choices leaves for at most 3 others, not for 6 ranks as by NCCL.
TEST(DeepEp, SendsATokenToANodeOnce) {
  const Device device = with_nvlink(h100());
  const GroupPlacement group = islands(device, 4, 8);
  const Collective op = exchange(1 << 20, 4096, 8, 128);
  const double remote = groups_met(4, 128, 8) * 3 / 4;
  ASSERT_LT(remote, 3);
  const auto cost = deepep_cost(op, group, device);
  const double wire =
      std::ldexp(1.0, 20) * 4096 * 2 * remote / (0.88 * group.inter.bandwidth.value);
  EXPECT_NEAR(cost->share[bandwidth_of(group.inter.link)].value, wire, 1e-9 * wire);
}

TEST(DeepEp, IsUsedWhereTheFrameworkDoesAndTokensTravel) {
  const Device device = with_nvlink(h100());
  const GroupPlacement group = islands(device, 4, 8);
  const Cluster cluster = cluster_of(device);
  const Collective op = exchange(4096, 4096, 8, 128);
  CostModel nccl, deepep;
  deepep.kernels.exchange = Dispatcher::kDeepEp;
  EXPECT_EQ(nccl.collective(op, group, cluster).algorithm, Algorithm::kPairwise);
  EXPECT_EQ(deepep.collective(op, group, cluster).algorithm, Algorithm::kDeepEp);
  EXPECT_LT(deepep.collective(op, group, cluster).cost.total(),
            nccl.collective(op, group, cluster).cost.total());
  for (const Device& without :
       {h100(), with_nvlink(gpu("v100", 70, 125e12, 900e9, 6, 2e-6)), cpu()}) {
    EXPECT_FALSE(deepep_cost(op, islands(without, 4, 8), without).has_value());
  }
  Collective heads = op;  // of context parallelism
  heads.tokens = {};
  EXPECT_EQ(deepep.collective(heads, group, cluster).algorithm, Algorithm::kPairwise);
}

/// Shapes in order; 7 of 10 were fitted.
std::map<std::string, int> numbered(const std::vector<Record>& rows) {
  std::map<std::string, int> out;
  for (const Record& r : rows) {
    out[fmt::format("{:>8}{:>4}{:>5}", r.at("hidden_size"), r.at("num_topk"), r.at("num_experts"))];
  }
  int n = 0;
  for (auto& [shape, number] : out) number = n++;
  return out;
}

TEST(DeepEp, PredictsTheShapesThatWereNotFitted) {
  const auto kernels = kernel_data();
  if (!kernels) GTEST_SKIP() << kSkip;
  for (const MeasuredMachine& machine : machines()) {
    const auto found =
        tables(*kernels / "aiconfigurator" / machine.folder, "wideep_deepep_normal_perf");
    if (found.empty()) continue;  // A100
    std::vector<Record> rows;
    for (const Record& r : read_table(found.back())) rows.push_back(r);
    const std::map<std::string, int> shapes = numbered(rows);
    const DeepEpFits fits = deepep_fits(generation_of(machine.device));
    for (const bool there : {true, false}) {
      const std::string name = there ? "dispatch" : "combine";
      const DeepEpFit& fit = there ? fits.dispatch : fits.combine;
      double error = 0;
      int n = 0;
      for (const Record& r : rows) {
        if (r.at(name + "_sms") != "20") continue;
        const std::string shape = fmt::format("{:>8}{:>4}{:>5}", r.at("hidden_size"),
                                              r.at("num_topk"), r.at("num_experts"));
        if (shapes.at(shape) % 10 < 7) continue;
        const double element = there ? 1 + 4 / 128.0 : 2;  // fp8 with fp32 scales; bf16
        const double row = std::stod(r.at("hidden_size")) * element;
        const double met =
            groups_met(8, std::stoll(r.at("num_experts")), std::stoll(r.at("num_topk")));
        const double us =
            fit.start_us + std::stod(r.at("num_token")) *
                               (fit.token_ns * 1e-3 + row * (met + fit.own) / fit.rate_gbps * 1e-3);
        error += std::abs(us / std::stod(r.at(name + "_transmit_us")) - 1);
        ++n;
      }
      ASSERT_GT(n, 50);
      fmt::print("{} {}: {:.1f} % of {} rows\n", machine.name, name, 100 * error / n, n);
      EXPECT_LT(error / n, there ? 0.06 : 0.10) << machine.name;
    }
  }
}

}  // namespace plait::deepep_test
