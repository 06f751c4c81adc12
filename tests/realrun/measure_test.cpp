// Measured steps: complete, causal, from a common start; medians and their intervals.
#include "realrun/measure.h"

#include <gtest/gtest.h>

#include "core/median.h"
#include "tests/realrun/worlds.h"

namespace plait::measure_test {

Model tiny() {
  Model m;
  m.name = "tiny", m.layers = 2, m.hidden = 16, m.heads = 4, m.kv_heads = 4, m.head_dim = 4;
  m.ffn_hidden = 32, m.vocab = 32, m.max_positions = 8;
  return m;
}

Plan plan_over(std::int64_t pp, std::int64_t dp, std::int64_t tp) {
  Workload w;
  w.sequence_length = 8, w.global_batch = 8, w.micro_batch = 1;
  w.precision = {DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32, DType::kFp32};
  Strategy s;
  s.mesh[Axis::kPp] = pp, s.mesh[Axis::kDp] = dp, s.mesh[Axis::kTp] = tp;
  return make_plan(tiny(), w, s);
}

std::optional<Measurement> measured(const std::string& transport, const Plan& plan,
                                    const MeasureOptions& options) {
  std::optional<Measurement> out;
  const std::string failure = run_world(transport, plan.mesh.world_size(), [&](Transport& t) {
    std::optional<Measurement> m = measure(plan, tiny(), t, options);
    EXPECT_EQ(m.has_value(), t.rank() == 0);
    if (m) out = std::move(m);
  });
  EXPECT_EQ(failure, "");
  return out;
}

class MeasuredOver : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Transports, MeasuredOver, testing::Values("threads", "tcp"),
                         [](const auto& p) { return p.param; });

TEST_P(MeasuredOver, RecordsEveryOpOfEveryRankInCausalOrder) {
  const Plan plan = plan_over(2, 2, 1);
  const std::optional<Measurement> m = measured(GetParam(), plan, {.warmup = 1, .repeats = 3});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->step_s.size(), 3U);
  ASSERT_EQ(m->timeline.tracks.size(), 4U);
  for (const Track& track : m->timeline.tracks) {
    const auto stage = static_cast<std::size_t>(track.stage);
    ASSERT_EQ(static_cast<std::int64_t>(track.start.size()), op_count(plan, stage));
    const auto before = communication_before(plan, stage);
    for (std::size_t i = 0; i < track.start.size(); ++i) {
      EXPECT_GE(track.start[i], 0);
      EXPECT_GE(track.end[i], track.start[i]);
      EXPECT_LE(track.end[i], m->timeline.step_time);
      for (std::uint32_t b : before[i]) EXPECT_LE(track.end[b], track.start[i]);
    }
  }
  for (const RankRecord& r : m->ranks) {
    EXPECT_EQ(r.planned_peak, r.held_peak);
    EXPECT_GE(r.in_flight_peak, Bytes(0));
  }
}

TEST(Measure, TimedComputeTakesThePredictedTime) {
  const Plan plan = plan_over(1, 1, 1);
  const auto ops = static_cast<std::size_t>(op_count(plan, 0));
  MeasureOptions options{.warmup = 0, .repeats = 5};
  options.timed_compute_s = {std::vector<double>(ops, 2e-4)};
  const std::optional<Measurement> m = measured("threads", plan, options);
  ASSERT_TRUE(m);
  const double expected = 2e-4 * static_cast<double>(ops);
  // Sleeps end late, never early, and lateness does not add up.
  for (double s : m->step_s) EXPECT_GE(s, expected);
  EXPECT_LT(median(m->step_s), expected * 1.2);
}

TEST(MedianInterval, FollowsFromTheBinomialDistribution) {
  // Nine values: P(fewer than 2 of 9 below) = 10 / 512, twice that is 3.9 %; with 3 it is 18 %.
  const Interval nine = median_interval({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  const Interval three = median_interval({1, 2, 3});
  EXPECT_EQ(three.low, 1);
  EXPECT_EQ(three.high, 3);
}

}  // namespace plait::measure_test
