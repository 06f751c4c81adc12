#include "kernels/cuda/add.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::add_test {

template <class T>
class CudaAdd : public ::testing::Test {};
TYPED_TEST_SUITE(CudaAdd, Elements);

/// Rows of whole vectors, of odd width, longer than a block; aligned and not.
struct Case {
  std::int64_t rows, width, shift;
};
constexpr Case kCases[] = {{1, 8, 0},  {5, 64, 0},   {7, 33, 0},
                           {3, 64, 1}, {2, 2088, 0}, {70, 24, 0}};

TYPED_TEST(CudaAdd, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Case& c : kCases) {
    const std::int64_t n = c.rows * c.width;
    const auto a = numbers<T>(random, n), b = numbers<T>(random, n);
    const auto bias = numbers<T>(random, c.width);
    for (const bool biased : {false, true}) {
      std::vector<float> want(a.wide.size());
      kernels::add(want.data(), a.wide.data(), b.wide.data(), biased ? bias.wide.data() : nullptr,
                   c.rows, c.width);
      OnDevice<T> da(a.narrow, c.shift), db(b.narrow, c.shift), dbias(bias.narrow, c.shift);
      OnDevice<T> out(unwritten<T>(n), c.shift);
      add(queue(), out.data(), da.data(), db.data(), biased ? dbias.data() : nullptr, c.rows,
          c.width);
      expect_close(out, want, 0);
      add(queue(), da.data(), da.data(), db.data(), biased ? dbias.data() : nullptr, c.rows,
          c.width);
      expect_close(da, want, 0);
    }
  }
}

// Rows of whole vectors and of odd width, from a column that is aligned and from one that is not.
TYPED_TEST(CudaAdd, ScaledEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const auto& [stride, first, width] :
       {std::array{64, 16, 32}, std::array{33, 3, 7}, std::array{2088, 0, 2088}}) {
    const std::int64_t rows = 5;
    const auto b = numbers<T>(random, rows * width), wide = numbers<T>(random, rows * stride);
    std::vector<float> sum = wide.wide, gradient(b.wide.size());
    kernels::add_scaled(sum.data() + first, b.wide.data(), 0.5, rows, width, stride);
    kernels::add_scaled_backward(gradient.data(), wide.wide.data() + first, 0.5, rows, width,
                                 stride);
    OnDevice<T> db(b.narrow), out(wide.narrow), dout(wide.narrow);
    OnDevice<T> got(unwritten<T>(rows * width));
    add_scaled(queue(), out.data() + first, db.data(), 0.5, rows, width, stride);
    add_scaled_backward(queue(), got.data(), dout.data() + first, 0.5, rows, width, stride);
    expect_close(out, sum, 0);
    expect_close(got, gradient, 0);
  }
}

TYPED_TEST(CudaAdd, AccumulatesIntoFloat) {
  using T = TypeParam;
  Random random;
  for (const std::int64_t n : {1, 19, 1024, 5003}) {
    const auto in = numbers<T>(random, n);
    auto want = random.values<float>(n);
    OnDevice<float> out(want);
    OnDevice<T> device_in(in.narrow);
    accumulate(queue(), out.data(), device_in.data(), n);
    kernels::add<float>(want.data(), want.data(), in.wide.data(), nullptr, 1, n);
    expect_close(out, want, 0);
  }
}

TEST(CudaMaximum, IsTheLargerOfTwo) {
  Random random;
  for (const std::int64_t n : {1, 19, 1024, 5003}) {
    const auto in = random.values<float>(n), before = random.values<float>(n);
    OnDevice<float> out(before), device_in(in);
    take_larger(queue(), out.data(), device_in.data(), n);
    const std::vector<float> got = out.values();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], std::max(in[i], before[i]));
  }
}

TYPED_TEST(CudaAdd, DropoutDrawsTheTwinsMask) {
  using T = TypeParam;
  Random random;
  for (const Case& c : kCases) {
    constexpr std::int64_t kBatch = 2;
    const std::int64_t rows = c.rows * kBatch, n = rows * c.width;
    Dropout dropout;
    dropout.probability = 0.3, dropout.seed = 77, dropout.sample_offset = 5;
    dropout.place = {3, 2, 90}, dropout.positions = 200;
    const auto a = numbers<T>(random, n), b = numbers<T>(random, n);
    const auto bias = numbers<T>(random, c.width);
    for (const bool biased : {false, true}) {
      std::vector<float> want(a.wide.size()), dwant = want;
      std::vector<std::uint8_t> mask(want.size());
      kernels::add_dropout(want.data(), mask.data(), a.wide.data(), b.wide.data(),
                           biased ? bias.wide.data() : nullptr, c.rows, kBatch, c.width, dropout);
      OnDevice<T> da(a.narrow, c.shift), db(b.narrow, c.shift), dbias(bias.narrow, c.shift);
      OnDevice<T> out(unwritten<T>(n), c.shift);
      OnDevice<std::uint8_t> device_mask(std::vector<std::uint8_t>(mask.size(), 9), c.shift);
      add_dropout(queue(), out.data(), device_mask.data(), da.data(), db.data(),
                  biased ? dbias.data() : nullptr, c.rows, kBatch, c.width, dropout);
      EXPECT_EQ(device_mask.values(), mask);
      expect_close(out, want, 1);
      kernels::add_dropout_backward(dwant.data(), a.wide.data(), mask.data(), n, 0.3);
      OnDevice<T> dx(unwritten<T>(n), c.shift);
      add_dropout_backward(queue(), dx.data(), da.data(), device_mask.data(), n, 0.3);
      expect_close(dx, dwant, 1);
    }
  }
}

}  // namespace plait::kernels::cuda::add_test
