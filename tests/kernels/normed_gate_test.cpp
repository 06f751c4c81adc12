#include "kernels/normed_gate.h"

#include "kernels/silu.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::normed_gate_test {

constexpr GatedNormShape kShape = {.rows = 3, .width = 4, .groups = 2, .packed_width = 5};
constexpr double kEpsilon = 1e-5;

TEST(NormedGate, NormalisesEachHeadBeforeTheGateWithOneGammaForAll) {
  const GatedNormShape s = {.rows = 1, .width = 2, .groups = 2, .packed_width = 2};
  const std::vector<double> y = {3, -0.1}, z = {1, 2}, gamma = {5};
  auto out = poisoned<double>(2), stats = poisoned<double>(2);
  normed_gate_forward(out.data(), stats.data(), y.data(), z.data(), gamma.data(), s, 0);
  expect_near(out, std::vector<double>{5 * silu_of(1.0), -5 * silu_of(2.0)}, 1e-12);
  expect_near(stats, std::vector<double>{1.0 / 3, 10}, 1e-12);
}

TEST(NormedGateGradient, IsTheSlopeOfForwardAndLeavesOtherColumns) {
  Random random;
  const auto y = random.values<double>(12), z = random.values<double>(15),
             gamma = random.values<double>(2), dout = random.values<double>(12);
  auto out = poisoned<double>(12), stats = poisoned<double>(6);
  normed_gate_forward(out.data(), stats.data(), y.data(), z.data(), gamma.data(), kShape, kEpsilon);
  auto dy = poisoned<double>(12), dgamma = poisoned<double>(2);
  std::vector<double> dz(15, 7);
  normed_gate_backward(dy.data(), dz.data(), dgamma.data(), dout.data(), y.data(), z.data(),
                       stats.data(), gamma.data(), kShape, false);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(dz[5 * row + 4], 7) << "no gate";
    dz[5 * row + 4] = 0;
  }
  const auto loss = [&](const auto& a, const auto& b, const auto& c) {
    auto o = poisoned<double>(12), s = poisoned<double>(6);
    normed_gate_forward(o.data(), s.data(), a.data(), b.data(), c.data(), kShape, kEpsilon);
    return dot(o, dout);
  };
  expect_gradient([&](const auto& at) { return loss(at, z, gamma); }, y, dy);
  expect_gradient([&](const auto& at) { return loss(y, at, gamma); }, z, dz);
  expect_gradient([&](const auto& at) { return loss(y, z, at); }, gamma, dgamma);
  const std::vector<double> once = dgamma;
  normed_gate_backward(dy.data(), dz.data(), dgamma.data(), dout.data(), y.data(), z.data(),
                       stats.data(), gamma.data(), kShape, true);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(dgamma[i], 2 * once[i], 1e-12);
}

}  // namespace plait::kernels::normed_gate_test
