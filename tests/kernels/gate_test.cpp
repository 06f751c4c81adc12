#include "kernels/gate.h"

#include "kernels/exponential.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::gate_test {

constexpr std::int64_t kRows = 3, kWidth = 4;

TEST(Gate, OfARowIsOneForAllItsNumbers) {
  const std::vector<double> x = {1, 2, 3, 4}, g = {0, 1};
  auto out = poisoned<double>(4);
  gate_forward(out.data(), x.data(), g.data(), 2, 2, 1);
  const double open = sigmoid(1.0);
  expect_near(out, std::vector<double>{0.5, 1, 3 * open, 4 * open}, 1e-12);
}

TEST(GateGradient, IsTheSlopeOfForward) {
  for (const std::int64_t gates : {kWidth, std::int64_t{1}}) {
    Random random;
    const auto x = random.values<double>(kRows * kWidth), g = random.values<double>(kRows * gates),
               dout = random.values<double>(kRows * kWidth);
    auto dx = poisoned<double>(kRows * kWidth), dg = poisoned<double>(kRows * gates);
    gate_backward(dx.data(), dg.data(), dout.data(), x.data(), g.data(), kRows, kWidth, gates);
    const auto loss = [&](const auto& a, const auto& b) {
      auto out = poisoned<double>(kRows * kWidth);
      gate_forward(out.data(), a.data(), b.data(), kRows, kWidth, gates);
      return dot(out, dout);
    };
    expect_gradient([&](const auto& at) { return loss(at, g); }, x, dx);
    expect_gradient([&](const auto& at) { return loss(x, at); }, g, dg);
  }
}

}  // namespace plait::kernels::gate_test
