#include "kernels/cuda/deal_heads.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::deal_heads_test {

template <class T>
class CudaDealHeads : public ::testing::Test {};
TYPED_TEST_SUITE(CudaDealHeads, Elements);

/// Heads of whole vectors, and of parts of them; four ranks share two key heads; one section alone.
TYPED_TEST(CudaDealHeads, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  const HeadShares whole{.rows = 5, .ranks = 2, .whole = {64, 32, 16}, .part = {32, 16, 8}};
  const HeadShares repeated{.rows = 3, .ranks = 4, .whole = {24, 6, 10}, .part = {6, 3, 5}};
  const HeadShares results{.rows = 4, .ranks = 2, .whole = {48, 0, 0}, .part = {24, 0, 0}};
  for (const HeadShares& s : {whole, repeated, results}) {
    const auto x = numbers<T>(random, s.rows * s.whole_width());
    const auto y = numbers<T>(random, s.ranks * s.rows * s.part_width());
    std::vector<float> parts(y.wide.size()), sums(x.wide.size());
    OnDevice<T> in(x.narrow), gradients(y.narrow);
    OnDevice<T> out(unwritten<T>(s.ranks * s.rows * s.part_width()));
    OnDevice<T> back(unwritten<T>(s.rows * s.whole_width()));
    kernels::deal_heads(parts.data(), x.wide.data(), s);
    deal_heads(queue(), out.data(), in.data(), s);
    expect_close(out, parts, 0);
    kernels::collect_heads(sums.data(), y.wide.data(), s);
    collect_heads(queue(), back.data(), gradients.data(), s);
    expect_close(back, sums, s.ranks);
  }
}

}  // namespace plait::kernels::cuda::deal_heads_test
