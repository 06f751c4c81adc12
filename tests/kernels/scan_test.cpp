#include "kernels/scan.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::scan_test {

// Two heads in each of two groups; a last chunk that is shorter.
constexpr ScanShape kShape = {.tokens = 5,
                              .samples = 2,
                              .heads = 4,
                              .head_dim = 2,
                              .groups = 2,
                              .state = 3,
                              .chunk = 2,
                              .packed_width = 7};
constexpr std::int64_t kRows = 5 * 2;
constexpr std::int64_t kOut = kRows * 8, kIn = kRows * (8 + 2 * 6), kPacked = kRows * 7;
constexpr std::int64_t kStates = 3 * 2 * 4 * 6;

struct Operands {
  std::vector<double> rows, packed, a_log, d, dt_bias;
  ScanWeights<double> weights() const { return {a_log.data(), d.data(), dt_bias.data()}; }
};
Operands any_operands(Random& random) {
  return {random.values<double>(kIn), random.values<double>(kPacked), random.values<double>(4),
          random.values<double>(4), random.values<double>(4)};
}
std::vector<double> scanned(const Operands& o) {
  auto y = poisoned<double>(kOut), states = poisoned<double>(kStates);
  scan_forward<double>(y.data(), states.data(), o.rows.data(), o.packed.data(), o.weights(),
                       kShape);
  return y;
}

/// One head of one row and two states over two tokens, by hand.
TEST(Scan, StatesDecayAndTakeInWhatTheTokenBrings) {
  const ScanShape s = {.tokens = 2,
                       .samples = 1,
                       .heads = 1,
                       .head_dim = 1,
                       .groups = 1,
                       .state = 2,
                       .chunk = 1,
                       .packed_width = 1};
  const double one = std::log(std::exp(1.0) - 1);                     // softplus(one) = 1
  const std::vector<double> rows = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // x, B, C of each token
  const std::vector<double> packed = {one, one}, a_log = {0}, d = {0.5}, bias = {0};
  auto y = poisoned<double>(2), states = poisoned<double>(4);
  scan_forward<double>(y.data(), states.data(), rows.data(), packed.data(),
                       {a_log.data(), d.data(), bias.data()}, s);
  const double keep = std::exp(-1.0);
  EXPECT_NEAR(y[0], 2 * (3 * 5 + 4 * 6) + 0.5 * 2, 1e-12);
  EXPECT_NEAR(y[1], (keep * 6 + 7 * 8) * 10 + (keep * 8 + 7 * 9) * 11 + 0.5 * 7, 1e-11);
  expect_near(states, std::vector<double>{0, 0, 6, 8}, 1e-12);
}

TEST(Scan, DoesNotDependOnItsChunks) {
  Random random;
  const Operands o = any_operands(random);
  ScanShape whole = kShape;
  whole.chunk = 8;
  auto y = poisoned<double>(kOut), states = poisoned<double>(kStates);
  scan_forward<double>(y.data(), states.data(), o.rows.data(), o.packed.data(), o.weights(), whole);
  expect_near(scanned(o), y, 0);
}

TEST(ScanGradient, IsTheSlopeOfForwardInAllOperands) {
  Random random;
  const Operands o = any_operands(random);
  const auto dy = random.values<double>(kOut);
  auto drows = poisoned<double>(kIn), dpacked = std::vector<double>(kPacked);
  auto da = poisoned<double>(4), dd = poisoned<double>(4), dbias = poisoned<double>(4);
  auto states = poisoned<double>(kStates);
  scan_backward<double>(drows.data(), dpacked.data(), {da.data(), dd.data(), dbias.data()},
                        states.data(), dy.data(), o.rows.data(), o.packed.data(), o.weights(),
                        kShape, false);
  const auto slope = [&](std::vector<double> Operands::*of, const std::vector<double>& gradient) {
    expect_gradient(
        [&](const std::vector<double>& at) {
          Operands moved = o;
          moved.*of = at;
          return dot(scanned(moved), dy);
        },
        o.*of, gradient);
  };
  slope(&Operands::rows, drows);
  slope(&Operands::packed, dpacked);
  slope(&Operands::a_log, da);
  slope(&Operands::d, dd);
  slope(&Operands::dt_bias, dbias);
}

TEST(ScanGradient, IsAddedToWhatThereIs) {
  Random random;
  const Operands o = any_operands(random);
  const auto dy = random.values<double>(kOut);
  auto drows = poisoned<double>(kIn), dpacked = std::vector<double>(kPacked);
  auto states = poisoned<double>(kStates);
  std::vector<double> once(12), twice(12);
  const auto run = [&](std::vector<double>& g, bool accumulate) {
    scan_backward<double>(drows.data(), dpacked.data(), {g.data(), g.data() + 4, g.data() + 8},
                          states.data(), dy.data(), o.rows.data(), o.packed.data(), o.weights(),
                          kShape, accumulate);
  };
  run(once, false), run(twice, false), run(twice, true);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(twice[i], 2 * once[i], 1e-12);
}

}  // namespace plait::kernels::scan_test
