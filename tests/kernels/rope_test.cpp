#include "kernels/rope.h"

#include <utility>

#include "tests/kernels/reference.h"

namespace plait::kernels::rope_test {

/// Rotates each pair by p theta^(-2 i / d), straight from the definition.
std::vector<double> reference(std::vector<double> x, const RopeShape& r) {
  const std::int64_t half = r.head_dim / 2;
  for (std::int64_t row = 0; row < r.sequence * r.batch; ++row) {
    const auto p = static_cast<double>(r.place(row / r.batch));
    for (std::int64_t h = 0; h < r.heads; ++h) {
      for (std::int64_t i = 0; i < half; ++i) {
        const double exponent = -2 * static_cast<double>(i) / static_cast<double>(r.head_dim);
        const double angle = p * std::pow(r.theta, exponent);
        double& a = x[static_cast<std::size_t>(row * r.row_width + h * r.head_dim + i)];
        double& b = x[static_cast<std::size_t>(row * r.row_width + h * r.head_dim + i + half)];
        const double rotated = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = rotated;
      }
    }
  }
  return x;
}

RopeShape shape(std::int64_t sequence, std::int64_t head_dim) {
  RopeShape r;
  r.sequence = sequence, r.batch = 2, r.heads = 3, r.head_dim = head_dim;
  r.row_width = 4 * head_dim;  // one value head at the end
  return r;
}

template <class T>
class Rope : public ::testing::Test {};
TYPED_TEST_SUITE(Rope, Precisions);

TYPED_TEST(Rope, RotatesQueriesAndKeysAndLeavesValues) {
  using T = TypeParam;
  for (const std::int64_t head_dim : {2, 6, 34, 130}) {
    const RopeShape r = shape(head_dim == 6 ? 200 : 5, head_dim);
    auto x = Random().values<T>(r.sequence * r.batch * r.row_width);
    const auto want = reference(widened(x), r);
    rope_forward(x.data(), r);
    // 64 complex products of rounding eps(double) between fresh sines, angles up to 200 whose own
    // rounding is 200 eps(double), and three operations in T.
    const double tolerance = 300 * 2.3e-16 + rounding<T>(2);
    expect_near(x, want, tolerance);
  }
}

/// Heads of latent attention are rotated in their last columns.
TYPED_TEST(Rope, LeavesColumnsThatAreSkipped) {
  using T = TypeParam;
  RopeShape wide = shape(5, 4), narrow = wide;
  wide.skipped = 3, wide.row_width = 3 * (3 + 4);
  narrow.row_width = 3 * 4;
  const auto x = Random().values<T>(5 * 2 * wide.row_width);
  auto got = x, alone = std::vector<T>(5 * 2 * 3 * 4);
  for (std::size_t h = 0; h < 5 * 2 * 3; ++h) {
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(7 * h + 3), 4,
                alone.begin() + static_cast<std::ptrdiff_t>(4 * h));
  }
  rope_forward(got.data(), wide);
  rope_forward(alone.data(), narrow);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t column = i % 7;
    EXPECT_EQ(got[i], column < 3 ? x[i] : alone[i / 7 * 4 + column - 3]) << i;
  }
}

TEST(Rope, APositionGetsTheSameBitsWhereverTheSequenceIsCut) {
  const RopeShape whole = shape(150, 6);
  const auto x = Random().values<double>(whole.sequence * whole.batch * whole.row_width);
  auto at_once = x, in_parts = x;
  rope_forward(at_once.data(), whole);
  for (const auto& [start, length] : {std::pair{0, 64}, {64, 36}, {100, 50}}) {
    RopeShape part = whole;
    part.sequence = length, part.place.first = start;
    rope_forward(in_parts.data() + start * whole.batch * whole.row_width, part);
  }
  EXPECT_EQ(in_parts, at_once);
}

TEST(Rope, BackwardIsTheSlopeOfForward) {
  RopeShape r = shape(3, 6);
  r.place.first = 63;  // crosses a position at which the sines are fresh
  const std::int64_t n = r.sequence * r.batch * r.row_width;
  const auto x = Random().values<double>(n), dy = Random(2).values<double>(n);
  auto dx = dy;
  rope_backward(dx.data(), r);
  const auto loss = [&](std::vector<double> at) {
    rope_forward(at.data(), r);
    return dot(at, dy);
  };
  expect_gradient(loss, x, dx);
}

}  // namespace plait::kernels::rope_test
