#include "kernels/drop.h"

#include "kernels/add.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::drop_test {

constexpr std::int64_t kSequence = 6, kBatch = 4, kWidth = 18;

Dropout dropout() {
  Dropout d;
  d.probability = 0.25, d.seed = 7, d.positions = kSequence;
  return d;
}

template <class T>
class Drop : public ::testing::Test {};
TYPED_TEST_SUITE(Drop, Precisions);

// What add_dropout adds to zeros, with the same mask.
TYPED_TEST(Drop, IsWhatTheSumWithDropoutAdds) {
  using T = TypeParam;
  Random random;
  const std::int64_t n = kSequence * kBatch * kWidth;
  const auto x = random.values<T>(n);
  const std::vector<T> zeros(static_cast<std::size_t>(n));
  auto out = poisoned<T>(n), sum = poisoned<T>(n);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n), 7), expected = mask;
  drop(out.data(), mask.data(), x.data(), kSequence, kBatch, kWidth, 0, dropout());
  add_dropout<T>(sum.data(), expected.data(), zeros.data(), x.data(), nullptr, kSequence, kBatch,
                 kWidth, dropout());
  EXPECT_EQ(out, sum);
  EXPECT_EQ(mask, expected);
}

// Halves of rows drop what the whole rows drop there.
TYPED_TEST(Drop, ColumnsOfARankDropWhatTheWholeDropsThere) {
  using T = TypeParam;
  const auto drawn = [](std::int64_t first, std::int64_t width) {
    const auto n = static_cast<std::size_t>(kSequence * kBatch * width);
    std::vector<T> x(n, 1), out(n);
    std::vector<std::uint8_t> mask(n);
    drop(out.data(), mask.data(), x.data(), kSequence, kBatch, width, first, dropout());
    return mask;
  };
  const auto whole = drawn(0, kWidth);
  const std::int64_t half = kWidth / 2;
  for (const std::int64_t first : {std::int64_t{0}, half}) {
    const auto part = drawn(first, half);
    for (std::int64_t row = 0; row < kSequence * kBatch; ++row) {
      for (std::int64_t i = 0; i < half; ++i)
        EXPECT_EQ(part[static_cast<std::size_t>(row * half + i)],
                  whole[static_cast<std::size_t>(row * kWidth + first + i)]);
    }
  }
}

}  // namespace plait::kernels::drop_test
