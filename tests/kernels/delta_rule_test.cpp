#include "kernels/delta_rule.h"

#include "kernels/exponential.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::delta_rule_test {

// Two value heads for each of two key heads; a last chunk that is shorter.
constexpr DeltaRuleShape kShape = {.tokens = 5,
                                   .samples = 2,
                                   .heads = 4,
                                   .value_dim = 2,
                                   .groups = 2,
                                   .key_dim = 3,
                                   .chunk = 2,
                                   .packed_width = 9};
constexpr std::int64_t kRows = 5 * 2;
constexpr std::int64_t kOut = kRows * 8, kIn = kRows * (8 + 2 * 6), kPacked = kRows * 9;
constexpr std::int64_t kKept = kRows * (8 + 2 * 12), kStats = kRows * 4 * 4;
constexpr std::int64_t kStates = 3 * 2 * 4 * 6;

struct Operands {
  std::vector<double> rows, packed, a_log, dt_bias;
  DeltaRuleWeights<double> weights() const { return {a_log.data(), dt_bias.data()}; }
};
Operands any_operands(Random& random) {
  return {random.values<double>(kIn), random.values<double>(kPacked), random.values<double>(4),
          random.values<double>(4)};
}
struct Results {
  std::vector<double> y = poisoned<double>(kOut), kept = poisoned<double>(kKept),
                      stats = poisoned<double>(kStats), states = poisoned<double>(kStates);
};
Results run(const Operands& o, const DeltaRuleShape& shape = kShape) {
  Results r;
  delta_rule_forward<double>(r.y.data(), {r.kept.data(), r.stats.data()}, r.states.data(),
                             o.rows.data(), o.packed.data(), o.weights(), shape);
  return r;
}

/// The recurrence as matrices, S[t] = e^g S[t-1] (I - b k k^T) + b v k^T, of one value of a head.
TEST(DeltaRule, StatesForgetWhatTheKeyRecalls) {
  const DeltaRuleShape s = {.tokens = 2,
                            .samples = 1,
                            .heads = 1,
                            .value_dim = 1,
                            .groups = 1,
                            .key_dim = 2,
                            .chunk = 1,
                            .packed_width = 2};
  const std::vector<double> rows = {3, 4, 6, 8, 5, /**/ 0, 2, 3, 0, 7};  // q, k, v of each token
  const std::vector<double> packed = {0.5, 1.5, -0.5, 0.25};             // beta and alpha of each
  const std::vector<double> a_log = {std::log(2.0)}, bias = {0.1};
  auto y = poisoned<double>(2), kept = poisoned<double>(10), stats = poisoned<double>(8),
       states = poisoned<double>(4);
  delta_rule_forward<double>(y.data(), {kept.data(), stats.data()}, states.data(), rows.data(),
                             packed.data(), {a_log.data(), bias.data()}, s);
  const double b0 = sigmoid(0.5), b1 = sigmoid(-0.5);
  const double first[] = {b0 * 5 * 0.6, b0 * 5 * 0.8};  // b v k^T with k = (0.6, 0.8)
  EXPECT_NEAR(y[0], (first[0] * 0.6 + first[1] * 0.8) / std::sqrt(2.0), 1e-6);
  const double keep = std::exp(-2 * std::log(1 + std::exp(0.25 + 0.1)));
  const double second[] = {keep * first[0] * (1 - b1) + b1 * 7, keep * first[1]};  // k = (1, 0)
  EXPECT_NEAR(y[1], second[1] / std::sqrt(2.0), 1e-6) << "q = (0, 1)";
  expect_near(states, std::vector<double>{0, 0, first[0], first[1]}, 1e-6);
}

TEST(DeltaRule, DoesNotDependOnItsChunks) {
  Random random;
  const Operands o = any_operands(random);
  DeltaRuleShape whole = kShape;
  whole.chunk = 8;
  expect_near(run(o).y, run(o, whole).y, 0);
}

/// A state without its decay, key by key of unit length, gives each value back.
TEST(DeltaRule, RecallsTheLastValueOfAKey) {
  const DeltaRuleShape s = {.tokens = 3,
                            .samples = 1,
                            .heads = 1,
                            .value_dim = 1,
                            .groups = 1,
                            .key_dim = 1,
                            .chunk = 3,
                            .packed_width = 2};
  const std::vector<double> rows = {1, 1, 5, 1, 1, 6, 1, 1, 7};
  const std::vector<double> packed = {50, -50, 50, -50, 50, -50};  // replaces all, keeps all
  const std::vector<double> zero = {0};
  auto y = poisoned<double>(3), kept = poisoned<double>(9), stats = poisoned<double>(12),
       states = poisoned<double>(1);
  delta_rule_forward<double>(y.data(), {kept.data(), stats.data()}, states.data(), rows.data(),
                             packed.data(), {zero.data(), zero.data()}, s);
  expect_near(y, std::vector<double>{5, 6, 7}, 1e-4);
}

TEST(DeltaRuleGradient, IsTheSlopeOfForwardInAllOperands) {
  Random random;
  const Operands o = any_operands(random);
  const auto dy = random.values<double>(kOut);
  const Results forward = run(o);
  auto drows = poisoned<double>(kIn), dpacked = std::vector<double>(kPacked);
  auto da = poisoned<double>(4), dbias = poisoned<double>(4), states = poisoned<double>(kStates);
  delta_rule_backward<double>(drows.data(), dpacked.data(), {da.data(), dbias.data()},
                              states.data(), dy.data(), {forward.kept.data(), forward.stats.data()},
                              o.packed.data(), o.weights(), kShape, false);
  expect_near(states, forward.states, 0);
  const auto slope = [&](std::vector<double> Operands::*of, const std::vector<double>& gradient) {
    expect_gradient(
        [&](const std::vector<double>& at) {
          Operands moved = o;
          moved.*of = at;
          return dot(run(moved).y, dy);
        },
        o.*of, gradient);
  };
  slope(&Operands::rows, drows);
  slope(&Operands::packed, dpacked);
  slope(&Operands::a_log, da);
  slope(&Operands::dt_bias, dbias);
}

TEST(DeltaRuleGradient, IsAddedToWhatThereIs) {
  Random random;
  const Operands o = any_operands(random);
  const auto dy = random.values<double>(kOut);
  const Results forward = run(o);
  auto drows = poisoned<double>(kIn), dpacked = std::vector<double>(kPacked);
  auto states = poisoned<double>(kStates);
  std::vector<double> once(8), twice(8);
  const auto back = [&](std::vector<double>& g, bool accumulate) {
    delta_rule_backward<double>(drows.data(), dpacked.data(), {g.data(), g.data() + 4},
                                states.data(), dy.data(),
                                {forward.kept.data(), forward.stats.data()}, o.packed.data(),
                                o.weights(), kShape, accumulate);
  };
  back(once, false), back(twice, false), back(twice, true);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-12);
}

}  // namespace plait::kernels::delta_rule_test
