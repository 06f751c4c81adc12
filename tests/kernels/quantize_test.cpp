#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/reference.h"

namespace plait::kernels::quantize_test {

using Values = std::vector<double>;

struct Quantized {
  std::vector<std::uint8_t> numbers;
  Values scales;
};
Quantized quantized(const Values& x, const QuantizedShape& s) {
  Quantized q{std::vector<std::uint8_t>(static_cast<std::size_t>(s.bytes()), 0xAA),
              Values(static_cast<std::size_t>(s.blocks))};
  quantize(q.numbers.data(), q.scales.data(), x.data(), s);
  return q;
}
Values restored(const Quantized& q, const QuantizedShape& s) {
  Values x(static_cast<std::size_t>(s.n));
  dequantize(x.data(), q.numbers.data(), q.scales.data(), s, false);
  return x;
}

// Of the nearest multiple of the scale: half of it at most, which is m / 254 and m / 14.
TEST(Quantize, ErrsByHalfAScaleAtMost) {
  Random random;
  for (const int bits : {8, 4}) {
    for (const QuantizedShape s :
         {QuantizedShape{101, 3, bits}, QuantizedShape{1, 1, bits}, QuantizedShape{64, 4, bits}}) {
      const Values x = random.values<double>(s.n);
      const Quantized q = quantized(x, s);
      const Values y = restored(q, s);
      for (std::int64_t i = 0; i < s.n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double scale = q.scales[static_cast<std::size_t>(i / s.block())];
        EXPECT_LE(std::abs(y[at] - x[at]), scale / 2 * (1 + 1e-12)) << bits << " bits, " << i;
      }
    }
  }
}

TEST(Quantize, BlocksHaveScalesOfTheirOwn) {
  const Quantized q = quantized({1, -127, 0.5, 254}, {4, 2, 8});
  EXPECT_EQ(q.scales, (Values{1, 2}));
  EXPECT_EQ(restored(q, {4, 2, 8}), (Values{1, -127, 0, 254}));  // 0.5 / 2 rounds to 0
}

TEST(Quantize, FourBitsLieTwoToAByte) {
  const QuantizedShape s{3, 1, 4};
  const Quantized q = quantized({7, -7, 3}, s);
  EXPECT_EQ(q.numbers, (std::vector<std::uint8_t>{0x97, 0x03}));  // -7 is 9 in four bits
  EXPECT_EQ(restored(q, s), (Values{7, -7, 3}));
}

TEST(Quantize, AddsWhereItAccumulates) {
  const QuantizedShape s{2, 1, 8};
  const Quantized q = quantized({127, 1}, s);
  Values x = {1, 1};
  dequantize(x.data(), q.numbers.data(), q.scales.data(), s, true);
  EXPECT_EQ(x, (Values{128, 2}));
}

TEST(Quantize, ZerosStayZero) {
  const QuantizedShape s{4, 1, 4};
  EXPECT_EQ(restored(quantized({0, 0, 0, 0}, s), s), (Values{0, 0, 0, 0}));
}

/// Of two ranks on two nodes, a number each: node by node 1 2 | 3 4 becomes rank by rank 1 3 | 2 4.
/// Each is the largest of its block, so it comes back as it was.
TEST(QuantizeShares, LieRankByRankAndAddUpByNode) {
  const QuantizedShares s{{.n = 1, .blocks = 1, .bits = 8}, 2, 2};
  const Values x = {1, 2, 3, 4};
  std::vector<std::uint8_t> numbers(4);
  Values scales(4), back(4), sums(2);
  quantize_shares(numbers.data(), scales.data(), x.data(), s);
  dequantize_shares(back.data(), numbers.data(), scales.data(), s, false);
  EXPECT_EQ(back, (Values{1, 3, 2, 4}));
  dequantize_shares(sums.data(), numbers.data(), scales.data(), s, true);
  EXPECT_EQ(sums, (Values{3, 7}));
}

}  // namespace plait::kernels::quantize_test
