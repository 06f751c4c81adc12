#include "kernels/cuda/cast.h"

#include "kernels/cuda/fill.h"
#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::cast_test {

template <class T>
class CudaCast : public ::testing::Test {};
TYPED_TEST_SUITE(CudaCast, Elements);

TYPED_TEST(CudaCast, RoundsToTheNearestAndBack) {
  using T = TypeParam;
  Random random;
  for (const std::int64_t n : {1, 19, 1024, 5003}) {
    for (const std::int64_t shift : {0, 1}) {
      const auto x = random.values<float>(n);
      OnDevice<float> wide(x, shift), back(unwritten<float>(n), shift);
      OnDevice<T> narrow(unwritten<T>(n), shift);
      cast(queue(), narrow.data(), wide.data(), n);
      cast(queue(), back.data(), narrow.data(), n);
      EXPECT_EQ(back.values(), narrowed<T>(x).wide);
    }
  }
}

TYPED_TEST(CudaCast, FillsEveryElementAndNoOther) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 19, 5003}) {
    for (const std::int64_t shift : {0, 3}) {
      OnDevice<T> x(unwritten<T>(n), shift);
      fill(queue(), x.data(), from_float<T>(0.5F), n);
      for (const T v : x.values()) ASSERT_EQ(to_float(v), 0.5F);
    }
  }
}

TYPED_TEST(CudaCast, CopiesColumnsOfWiderRows) {
  using T = TypeParam;
  Random random;
  constexpr std::int64_t kRows = 9;
  for (const auto& [wide, narrow] : {std::pair{48, 32}, std::pair{33, 20}, std::pair{2080, 2072}}) {
    const auto from_wide = numbers<T>(random, kRows * wide);
    const auto from_narrow = numbers<T>(random, kRows * narrow);
    OnDevice<T> a(from_wide.narrow), b(from_narrow.narrow), to_narrow(unwritten<T>(kRows * narrow));
    T* const last = a.data() + wide - narrow;
    copy_columns(queue(), to_narrow.data(), narrow, last, wide, kRows, narrow);
    copy_columns(queue(), last, wide, b.data(), narrow, kRows, narrow);
    const auto taken = to_narrow.values(), replaced = a.values();
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < wide; ++c) {
        const auto at = static_cast<std::size_t>(r * wide + c);
        const std::int64_t column = c - (wide - narrow);
        if (column < 0) {
          ASSERT_EQ(to_float(replaced[at]), from_wide.wide[at]);
          continue;
        }
        const auto there = static_cast<std::size_t>(r * narrow + column);
        ASSERT_EQ(to_float(taken[there]), from_wide.wide[at]);
        ASSERT_EQ(to_float(replaced[at]), from_narrow.wide[there]);
      }
    }
  }
}

TYPED_TEST(CudaCast, ExchangesTheFirstTwoDimensions) {
  using T = TypeParam;
  Random random;
  constexpr std::int64_t kFirst = 3, kSecond = 5;
  for (const std::int64_t width : {7, 32}) {
    const auto x = numbers<T>(random, kFirst * kSecond * width);
    std::vector<float> want(x.wide.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t row = at / width, a = row / kSecond, b = row % kSecond;
      want[static_cast<std::size_t>((b * kFirst + a) * width + at % width)] = x.wide[i];
    }
    OnDevice<T> in(x.narrow), out(unwritten<T>(kFirst * kSecond * width));
    exchange_dimensions(queue(), out.data(), in.data(), kFirst, kSecond, width);
    expect_close(out, want, 0);
  }
}

TYPED_TEST(CudaCast, GathersAndScattersRowsByPosition) {
  using T = TypeParam;
  Random random;
  constexpr std::int64_t kRows = 6, kAll = 12;
  const Positions place{1, 4, 9};
  for (const std::int64_t width : {7, 32}) {
    const auto all = numbers<T>(random, kAll * width);
    OnDevice<T> from(all.narrow), rows(unwritten<T>(kRows * width)),
        back(unwritten<T>(kAll * width));
    gather_rows(queue(), rows.data(), from.data(), place, kRows, width);
    scatter_rows(queue(), back.data(), rows.data(), place, kRows, width);
    const auto gathered = rows.values(), scattered = back.values();
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto there = static_cast<std::size_t>(place(r) * width + c);
        ASSERT_EQ(to_float(gathered[static_cast<std::size_t>(r * width + c)]), all.wide[there]);
        ASSERT_EQ(to_float(scattered[there]), all.wide[there]);
      }
    }
  }
}

/// Every number becomes the nearest fp8 number of the scaled one, which is within a relative 2^-4
/// (e4m3) or 2^-3 (e5m2), or for the smallest within half of the format's smallest step.
template <class F, class T>
void expect_fp8(double relative, double largest, double smallest_step) {
  Random random;
  for (const auto& [rows, columns] : {std::pair{1, 16}, std::pair{40, 33}, std::pair{64, 96}}) {
    const auto x = numbers<T>(random, rows * columns);
    OnDevice<T> in(x.narrow);
    OnDevice<F> out(std::vector<F>(x.wide.size())), transposed(std::vector<F>(x.wide.size()));
    OnDevice<float> inverse(unwritten<float>(1));
    cast_fp8(queue(), out.data(), transposed.data(), inverse.data(), in.data(), rows, columns);
    double most = 0;
    for (const float v : x.wide) most = std::max(most, std::abs(static_cast<double>(v)));
    const auto step = static_cast<double>(inverse.values()[0]);
    ASSERT_NEAR(step, most / largest, 1e-6 * step);
    const auto got = out.values(), turned = transposed.values();
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>(r * columns + c);
        const auto want = static_cast<double>(x.wide[at]);
        const double tolerance = std::max(relative * std::abs(want), smallest_step * step / 2);
        ASSERT_NEAR(step * static_cast<double>(static_cast<float>(got[at])), want,
                    1.0001 * tolerance);
        const auto there = static_cast<std::size_t>(c * rows + r);
        ASSERT_EQ(static_cast<float>(turned[there]), static_cast<float>(got[at]));
      }
    }
  }
}
TYPED_TEST(CudaCast, Fp8UsesTheWholeRangeOfTheFormat) {
  expect_fp8<__nv_fp8_e4m3, TypeParam>(0x1p-4, 448, 0x1p-9);
  expect_fp8<__nv_fp8_e5m2, TypeParam>(0x1p-3, 57344, 0x1p-16);
}
TEST(CudaCast, ZerosInFp8StayZeros) {
  OnDevice<float> in(std::vector<float>(16)), inverse({0.0F});
  OnDevice<__nv_fp8_e4m3> out(std::vector<__nv_fp8_e4m3>(16));
  cast_fp8<__nv_fp8_e4m3, float>(queue(), out.data(), nullptr, inverse.data(), in.data(), 1, 16);
  for (const auto v : out.values()) EXPECT_EQ(static_cast<float>(v), 0.0F);
  EXPECT_EQ(inverse.values()[0], 1.0F);
}

}  // namespace plait::kernels::cuda::cast_test
