#include "kernels/cast.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::cast_test {

float rounded(float x) {
  float out = std::numeric_limits<float>::quiet_NaN();
  round_to_bf16(&out, &x, 1);
  return out;
}

TEST(Cast, ConvertsBetweenFloatAndDouble) {
  const std::vector<double> wide = {0.1, -3, 1e300, 5e-324};
  std::vector<float> narrow(4);
  cast(narrow.data(), wide.data(), 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(narrow[i], static_cast<float>(wide[i]));
  std::vector<double> back(4);
  cast(back.data(), narrow.data(), 4);
  EXPECT_EQ(back, widened(narrow));
}

TEST(Cast, Bf16IsTheNearestNumberOfEightBits) {
  for (const float x : Random().values<float>(1000)) {
    int exponent = 0;
    std::frexp(x, &exponent);
    // x = f 2^exponent with f in [1/2, 1): 8 bits make steps of 2^(exponent - 8). nearbyint rounds
    // ties to even.
    const float step = std::ldexp(1.0F, exponent - 8);
    ASSERT_EQ(rounded(x), std::nearbyint(x / step) * step) << x;
  }
}

TEST(Cast, Bf16TiesGoToTheEvenNeighbour) {
  const float step = std::ldexp(1.0F, -7);  // between neighbours in [1, 2)
  EXPECT_EQ(rounded(1 + step / 2), 1.0F);
  EXPECT_EQ(rounded(1 + 3 * step / 2), 1 + 2 * step);
  EXPECT_EQ(rounded(-1 - step / 2), -1.0F);
  EXPECT_EQ(rounded(std::nextafter(1 + step / 2, 2.0F)), 1 + step);
}

TEST(Cast, Bf16KeepsSpecialValuesAndOverflowsToInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(infinity), infinity);
  EXPECT_EQ(rounded(-infinity), -infinity);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  // All mantissa bits set: adding half a unit would carry into the sign.
  EXPECT_TRUE(std::isnan(rounded(std::nanf("0x7fffff"))));
  EXPECT_TRUE(std::signbit(rounded(-0.0F)));
}

TEST(Cast, PackedBf16UnpacksToTheRoundedValueAndRoundingWorksInPlace) {
  const auto x = Random().values<float>(65);
  std::vector<std::uint16_t> packed(65);
  auto unpacked = poisoned<float>(65), want = unpacked;
  pack_bf16(packed.data(), x.data(), 65);
  unpack_bf16(unpacked.data(), packed.data(), 65);
  round_to_bf16(want.data(), x.data(), 65);
  EXPECT_EQ(unpacked, want);
  auto in_place = x;
  round_to_bf16(in_place.data(), in_place.data(), 65);
  EXPECT_EQ(in_place, want);
}

}  // namespace plait::kernels::cast_test
