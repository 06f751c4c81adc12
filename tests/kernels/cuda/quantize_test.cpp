#include "kernels/cuda/quantize.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::quantize_test {

/// Shares of whole vectors, and odd ones whose blocks share bytes; a last block that is short.
constexpr QuantizedShares kShares[] = {
    {.each = {.n = 512, .blocks = 2, .bits = 8}, .ranks = 2, .nodes = 3},
    {.each = {.n = 512, .blocks = 2, .bits = 4}, .ranks = 3, .nodes = 2},
    {.each = {.n = 101, .blocks = 4, .bits = 8}, .ranks = 1, .nodes = 1},
    {.each = {.n = 103, .blocks = 3, .bits = 4}, .ranks = 2, .nodes = 2},
};

template <class T>
class CudaQuantize : public ::testing::Test {};
TYPED_TEST_SUITE(CudaQuantize, Elements);

TYPED_TEST(CudaQuantize, EqualsItsTwinToTheBit) {
  using T = TypeParam;
  Random random;
  for (const QuantizedShares& s : kShares) {
    const std::int64_t shares = s.ranks * s.nodes;
    auto x = random.values<float>(shares * s.each.n);
    std::fill_n(x.begin(), s.each.block(), 0.0F);  // a block of zeros
    const auto numbers = narrowed<T>(x);
    std::vector<std::uint8_t> integers(static_cast<std::size_t>(shares * s.each.bytes()), 0xAA);
    std::vector<float> scales(static_cast<std::size_t>(shares * s.each.blocks));
    OnDevice<T> in(numbers.narrow);
    OnDevice<std::uint8_t> out(integers);
    OnDevice<float> device_scales(unwritten<float>(shares * s.each.blocks));
    kernels::quantize_shares(integers.data(), scales.data(), numbers.wide.data(), s);
    quantize_shares(queue(), out.data(), device_scales.data(), in.data(), s);
    EXPECT_EQ(device_scales.values(), scales);
    EXPECT_EQ(out.values(), integers) << s.each.bits << " bits, " << s.each.n;

    for (const bool adds : {false, true}) {
      const std::int64_t n = s.each.n * s.nodes * (adds ? 1 : s.ranks);
      std::vector<float> restored(static_cast<std::size_t>(n));
      OnDevice<T> back(unwritten<T>(n));
      kernels::dequantize_shares(restored.data(), integers.data(), scales.data(), s, adds);
      dequantize_shares(queue(), back.data(), out.data(), device_scales.data(), s, adds);
      expect_close(back, restored, adds ? s.ranks : 0);
    }
  }
}

}  // namespace plait::kernels::cuda::quantize_test
