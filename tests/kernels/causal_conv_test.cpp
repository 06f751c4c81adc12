#include "kernels/causal_conv.h"

#include "kernels/silu.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::causal_conv_test {

// Three channels in the middle of rows of six.
constexpr ConvShape kShape = {
    .tokens = 4, .samples = 2, .channels = 3, .taps = 3, .row_width = 6, .first = 2};
constexpr std::int64_t kOut = 4 * 2 * 3, kIn = 4 * 2 * 6;

TEST(CausalConv, SeesTheLastTokensAndNothingBeforeTheSequence) {
  const ConvShape s = {
      .tokens = 3, .samples = 1, .channels = 1, .taps = 2, .row_width = 1, .first = 0};
  const std::vector<double> x = {1, 2, 3}, w = {10, 100}, bias = {0.5};
  auto out = poisoned<double>(3);
  causal_conv_forward(out.data(), x.data(), w.data(), bias.data(), s);
  expect_near(out, std::vector<double>{silu_of(100.5), silu_of(210.5), silu_of(320.5)}, 1e-12);
}

TEST(CausalConv, WithoutABiasIsThatWithZeros) {
  Random random;
  const auto x = random.values<double>(kIn), w = random.values<double>(9),
             dout = random.values<double>(kOut);
  const std::vector<double> zeros(3);
  const auto run = [&](const double* bias, double* dbias) {
    auto out = poisoned<double>(kOut), dw = poisoned<double>(9);
    std::vector<double> dx(kIn);
    causal_conv_forward(out.data(), x.data(), w.data(), bias, kShape);
    causal_conv_backward(dx.data(), dw.data(), dbias, dout.data(), x.data(), w.data(), bias, kShape,
                         false);
    out.insert(out.end(), dw.begin(), dw.end()), out.insert(out.end(), dx.begin(), dx.end());
    return out;
  };
  auto dbias = poisoned<double>(3);
  expect_near(run(nullptr, nullptr), run(zeros.data(), dbias.data()), 0);
}

TEST(CausalConvGradient, IsTheSlopeOfForwardAndLeavesOtherColumns) {
  Random random;
  const auto x = random.values<double>(kIn), w = random.values<double>(9),
             bias = random.values<double>(3), dout = random.values<double>(kOut);
  std::vector<double> dx(kIn, 7);
  auto dw = poisoned<double>(9), dbias = poisoned<double>(3);
  causal_conv_backward(dx.data(), dw.data(), dbias.data(), dout.data(), x.data(), w.data(),
                       bias.data(), kShape, false);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (i % 6 >= 2 && i % 6 < 5) continue;
    EXPECT_EQ(dx[i], 7) << "no channel";
    dx[i] = 0;
  }
  const auto loss = [&](const auto& a, const auto& b, const auto& c) {
    auto out = poisoned<double>(kOut);
    causal_conv_forward(out.data(), a.data(), b.data(), c.data(), kShape);
    return dot(out, dout);
  };
  expect_gradient([&](const auto& at) { return loss(at, w, bias); }, x, dx);
  expect_gradient([&](const auto& at) { return loss(x, at, bias); }, w, dw);
  expect_gradient([&](const auto& at) { return loss(x, w, at); }, bias, dbias);
}

}  // namespace plait::kernels::causal_conv_test
