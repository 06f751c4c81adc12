#include "kernels/cuda/embedding.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::embedding_test {

constexpr std::int64_t kVocab = 11, kOffset = 7, kTokens = 30;  // ids on both sides of the shard

template <class T>
class CudaEmbedding : public ::testing::Test {};
TYPED_TEST_SUITE(CudaEmbedding, Elements);

struct Case {
  std::int64_t rows, width, shift;
};
constexpr Case kCases[] = {{1, 8, 0}, {150, 33, 0}, {75, 64, 1}, {40, 2088, 0}};

TYPED_TEST(CudaEmbedding, ForwardEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Case& c : kCases) {
    const auto tokens = random.ids(c.rows, kTokens);
    const auto table = numbers<T>(random, kVocab * c.width);
    std::vector<float> want(static_cast<std::size_t>(c.rows * c.width));
    kernels::embedding_forward(want.data(), tokens.data(), table.wide.data(), c.rows, c.width,
                               kVocab, kOffset);
    OnDevice<T> out(unwritten<T>(c.rows * c.width), c.shift), device_table(table.narrow, c.shift);
    OnDevice<std::int64_t> device_tokens(tokens);
    embedding_forward(queue(), out.data(), device_tokens.data(), device_table.data(), c.rows,
                      c.width, kVocab, kOffset);
    expect_close(out, want, 0);
  }
}

template <class T, class G>
void token_gradient_equals_its_twin() {
  Random random;
  for (const Case& c : kCases) {
    const auto tokens = random.ids(c.rows, kTokens);
    const auto dout = numbers<T>(random, c.rows * c.width);
    const auto start = numbers<G>(random, kVocab * c.width);
    for (const bool accumulate : {false, true}) {
      std::vector<float> want = start.wide;
      kernels::embedding_backward(want.data(), tokens.data(), dout.wide.data(), c.rows, c.width,
                                  kVocab, kOffset, accumulate);
      OnDevice<T> device_dout(dout.narrow, c.shift);
      OnDevice<G> dtable(accumulate ? start.narrow : unwritten<G>(kVocab * c.width), c.shift);
      OnDevice<std::int64_t> device_tokens(tokens);
      embedding_backward(queue(), dtable.data(), device_tokens.data(), device_dout.data(), c.rows,
                         c.width, kVocab, kOffset, accumulate);
      expect_close(dtable, want, 32);  // a token comes up to about 20 times
    }
  }
}
TEST(CudaEmbedding, BackwardEqualsItsTwinInFloat) {
  token_gradient_equals_its_twin<float, float>();
}
TEST(CudaEmbedding, BackwardEqualsItsTwinInBf16) {
  token_gradient_equals_its_twin<__nv_bfloat16, __nv_bfloat16>();
}
TEST(CudaEmbedding, BackwardEqualsItsTwinWithFloatGradients) {
  token_gradient_equals_its_twin<__nv_bfloat16, float>();
}

TYPED_TEST(CudaEmbedding, PositionsEqualTheirTwin) {
  using T = TypeParam;
  Random random;
  constexpr std::int64_t kSequence = 6, kBatch = 3, kPositions = 20;
  const Positions place{3, 4, 15};
  for (const std::int64_t width : {8, 33, 2088}) {
    const std::int64_t n = kSequence * kBatch * width;
    const auto in = numbers<T>(random, n), table = numbers<T>(random, kPositions * width);
    std::vector<float> want(in.wide.size());
    kernels::positions_forward(want.data(), in.wide.data(), table.wide.data(), kSequence, kBatch,
                               width, place);
    OnDevice<T> device_in(in.narrow), device_table(table.narrow);
    positions_forward(queue(), device_in.data(), device_in.data(), device_table.data(), kSequence,
                      kBatch, width, place);
    expect_close(device_in, want, 0);
    for (const bool accumulate : {false, true}) {
      std::vector<float> gradient = table.wide;
      kernels::positions_backward(gradient.data(), in.wide.data(), kSequence, kBatch, width,
                                  kPositions, place, accumulate);
      OnDevice<T> dout(in.narrow);
      OnDevice<T> dtable(accumulate ? table.narrow : unwritten<T>(kPositions * width));
      positions_backward(queue(), dtable.data(), dout.data(), kSequence, kBatch, width, kPositions,
                         place, accumulate);
      expect_close(dtable, gradient, kBatch);
    }
  }
}

TYPED_TEST(CudaEmbedding, RowsThatPositionsShareEqualTheirTwin) {
  using T = TypeParam;
  Random random;
  // Positions 3 to 6, then 15 and 16, in texts of 5: rows 0, 0, 1, 1, 3, 3.
  constexpr std::int64_t kSequence = 6, kBatch = 3, kTypes = 4, kRun = 5;
  const Positions place{3, 4, 15};
  for (const std::int64_t width : {8, 33, 2088}) {
    const std::int64_t n = kSequence * kBatch * width;
    const auto in = numbers<T>(random, n), table = numbers<T>(random, kTypes * width);
    std::vector<float> want(in.wide.size());
    kernels::positions_forward(want.data(), in.wide.data(), table.wide.data(), kSequence, kBatch,
                               width, place, kRun);
    OnDevice<T> device_in(in.narrow), device_table(table.narrow);
    positions_forward(queue(), device_in.data(), device_in.data(), device_table.data(), kSequence,
                      kBatch, width, place, kRun);
    expect_close(device_in, want, 0);
    std::vector<float> gradient = table.wide;
    kernels::positions_backward(gradient.data(), in.wide.data(), kSequence, kBatch, width, kTypes,
                                place, true, kRun);
    OnDevice<T> dout(in.narrow), dtable(table.narrow);
    positions_backward(queue(), dtable.data(), dout.data(), kSequence, kBatch, width, kTypes, place,
                       true, kRun);
    expect_close(dtable, gradient, 2 * kBatch);
  }
}

}  // namespace plait::kernels::cuda::embedding_test
