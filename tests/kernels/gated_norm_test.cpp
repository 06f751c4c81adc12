#include "kernels/gated_norm.h"

#include "kernels/silu.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::gated_norm_test {

constexpr GatedNormShape kShape = {.rows = 3, .width = 4, .groups = 2, .packed_width = 5};
constexpr double kEpsilon = 1e-5;

TEST(GatedNorm, NormalisesEachGroupByItself) {
  const GatedNormShape s = {.rows = 1, .width = 2, .groups = 2, .packed_width = 2};
  const std::vector<double> y = {3, -0.1}, z = {1, 2}, gamma = {5, 7};
  auto out = poisoned<double>(2), stats = poisoned<double>(2);
  gated_norm_forward(out.data(), stats.data(), y.data(), z.data(), gamma.data(), s, 0);
  expect_near(out, std::vector<double>{5, -7}, 1e-12);
  EXPECT_NEAR(stats[0], 1 / (3 * silu_of(1.0)), 1e-12);
}

TEST(GatedNormGradient, IsTheSlopeOfForwardAndMakesItsResultAgain) {
  Random random;
  const auto y = random.values<double>(12), z = random.values<double>(15),
             gamma = random.values<double>(4), dout = random.values<double>(12);
  auto out = poisoned<double>(12), stats = poisoned<double>(6);
  gated_norm_forward(out.data(), stats.data(), y.data(), z.data(), gamma.data(), kShape, kEpsilon);
  auto dy = poisoned<double>(12), again = poisoned<double>(12), dgamma = poisoned<double>(4);
  std::vector<double> dz(15);
  gated_norm_backward(dy.data(), dz.data(), dgamma.data(), again.data(), dout.data(), y.data(),
                      z.data(), stats.data(), gamma.data(), kShape, false);
  expect_near(again, out, 1e-14);
  const auto loss = [&](const auto& a, const auto& b, const auto& c) {
    auto o = poisoned<double>(12), s = poisoned<double>(6);
    gated_norm_forward(o.data(), s.data(), a.data(), b.data(), c.data(), kShape, kEpsilon);
    return dot(o, dout);
  };
  expect_gradient([&](const auto& at) { return loss(at, z, gamma); }, y, dy);
  expect_gradient([&](const auto& at) { return loss(y, at, gamma); }, z, dz);
  expect_gradient([&](const auto& at) { return loss(y, z, at); }, gamma, dgamma);
}

}  // namespace plait::kernels::gated_norm_test
