// Predicted against measured: what agrees has no residual, what is planted is found in its class.
#include "reports/residuals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

#include "plan/walk.h"

namespace plait::residuals_test {

Plan data_parallel() {
  Model m;
  m.name = "tiny", m.layers = 2, m.hidden = 16, m.heads = 4, m.kv_heads = 4, m.head_dim = 4;
  m.ffn_hidden = 32, m.vocab = 32, m.max_positions = 8;
  Workload w;
  w.sequence_length = 8, w.global_batch = 2, w.micro_batch = 1;
  Strategy s;
  s.mesh[Axis::kDp] = 2;
  return make_plan(m, w, s);
}

constexpr SimTime kMillisecond = kPicosecondsPerSecond / 1000;

/// Every op takes a millisecond, one after the other.
Timeline in_a_row(const Plan& plan) {
  Timeline out;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    Track t;
    t.rank = rank;
    for (SimTime i = 0; i < op_count(plan, 0); ++i) {
      t.start.push_back(i * kMillisecond), t.end.push_back((i + 1) * kMillisecond);
    }
    out.step_time = t.end.back();
    out.tracks.push_back(std::move(t));
  }
  return out;
}

const ClassResidual& of(const std::vector<ClassResidual>& all, std::string_view name) {
  for (const ClassResidual& r : all) {
    if (r.name == name) return r;
  }
  ADD_FAILURE() << "no class " << name;
  return all.front();
}

TEST(Residuals, FindTheClassThatIsOff) {
  const Plan plan = data_parallel();
  const Timeline predicted = in_a_row(plan);
  Timeline measured = predicted;
  std::int64_t matmuls = 0, all = 0;
  for (Track& rank : measured.tracks) {
    for_each_op(plan, 0, [&](std::int64_t flat, const Call&, const Op& op) {
      const auto i = static_cast<std::size_t>(flat);
      const bool matmul = residual_class(op) == "matmul";
      matmuls += matmul ? 1 : 0, ++all;
      rank.end[i] = rank.start[i] + (matmul ? 2 : 1) * kMillisecond;
    });
  }
  const std::vector<ClassResidual> got = residuals(plan, predicted, measured);
  std::int64_t counted = 0;
  for (const ClassResidual& r : got) {
    counted += r.ops;
    EXPECT_NEAR(r.mean_log_error.value(), r.name == "matmul" ? std::log(2.0) : 0, 1e-12) << r.name;
  }
  EXPECT_EQ(counted, all);
  const ClassResidual& m = of(got, "matmul");
  EXPECT_EQ(m.ops, matmuls);
  // Sums are means over the two ranks.
  EXPECT_NEAR(m.measured_s, 2e-3 * static_cast<double>(matmuls) / 2, 1e-12);
  EXPECT_NEAR(m.predicted_s, 1e-3 * static_cast<double>(matmuls) / 2, 1e-12);
  EXPECT_GT(of(got, "all_reduce over dp").ops, 0);
  // Longest first.
  for (std::size_t i = 1; i < got.size(); ++i) {
    EXPECT_GE(got[i - 1].measured_s, got[i].measured_s);
  }
}

TEST(Residuals, OpsTooShortToCompareCountInTheSumsOnly) {
  const Plan plan = data_parallel();
  const Timeline predicted = in_a_row(plan);
  Timeline measured = predicted;
  for (Track& rank : measured.tracks) {
    for (std::size_t i = 0; i < rank.end.size(); ++i) {
      rank.end[i] = rank.start[i] + kMillisecond / 10000;
    }
  }
  for (const ClassResidual& r : residuals(plan, predicted, measured)) {
    EXPECT_FALSE(r.mean_log_error) << "none of them was compared";
    EXPECT_GT(r.measured_s, 0);
  }
}

}  // namespace plait::residuals_test
