#include "kernels/latent_heads.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::latent_heads_test {

constexpr LatentShape kShape = {.rows = 2, .heads = 2, .own = 2, .rope = 1, .values = 3};
constexpr std::int64_t kQueries = 2 * 2 * 3, kKeysAndValues = 2 * 2 * 5, kRotary = 2;
constexpr std::int64_t kPacked = 2 * (2 * 3 + 2 * 3 + 2 * 3);

template <class T>
class LatentHeads : public ::testing::Test {};
TYPED_TEST_SUITE(LatentHeads, Precisions);

/// One row, spelt out: queries stay, a key is its own columns and the shared one, values follow.
TYPED_TEST(LatentHeads, PutEachHeadsKeyTogetherFromItsOwnColumnsAndTheSharedOnes) {
  using T = TypeParam;
  const LatentShape one = {.rows = 1, .heads = 2, .own = 2, .rope = 1, .values = 3};
  const std::vector<T> q = {1, 2, 3, 4, 5, 6}, rotary = {9};
  const std::vector<T> kv = {10, 11, 20, 21, 22, 12, 13, 23, 24, 25};
  auto packed = poisoned<T>(18);
  latent_heads_forward(packed.data(), q.data(), kv.data(), rotary.data(), one);
  EXPECT_EQ(packed,
            (std::vector<T>{1, 2, 3, 4, 5, 6, 10, 11, 9, 12, 13, 9, 20, 21, 22, 23, 24, 25}));
}

TEST(LatentHeadsGradient, IsTheSlopeOfForwardInAllThreeOperands) {
  Random random;
  const auto q = random.values<double>(kQueries), kv = random.values<double>(kKeysAndValues),
             rotary = random.values<double>(kRotary), dpacked = random.values<double>(kPacked);
  auto dq = poisoned<double>(kQueries), dkv = poisoned<double>(kKeysAndValues),
       drotary = poisoned<double>(kRotary);
  latent_heads_backward(dq.data(), dkv.data(), drotary.data(), dpacked.data(), kShape);
  const auto loss = [&](const std::vector<double>& a, const std::vector<double>& b,
                        const std::vector<double>& c) {
    auto packed = poisoned<double>(kPacked);
    latent_heads_forward(packed.data(), a.data(), b.data(), c.data(), kShape);
    return dot(packed, dpacked);
  };
  expect_gradient([&](const auto& at) { return loss(at, kv, rotary); }, q, dq);
  expect_gradient([&](const auto& at) { return loss(q, at, rotary); }, kv, dkv);
  expect_gradient([&](const auto& at) { return loss(q, kv, at); }, rotary, drotary);
}

}  // namespace plait::kernels::latent_heads_test
