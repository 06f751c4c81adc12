#include "kernels/embedding.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::embedding_test {

constexpr std::int64_t kRows = 17, kVocab = 6;

template <class T>
class Embedding : public ::testing::Test {};
TYPED_TEST_SUITE(Embedding, Precisions);

TYPED_TEST(Embedding, LooksUpTheTokensRow) {
  using T = TypeParam;
  for (const std::int64_t width : {1, 5, 65}) {
    Random random;
    const auto tokens = random.ids(kRows, kVocab);
    const auto table = random.values<T>(kVocab * width);
    auto out = poisoned<T>(kRows * width);
    embedding_forward(out.data(), tokens.data(), table.data(), kRows, width, kVocab, 0);
    for (std::int64_t i = 0; i < kRows * width; ++i) {
      const std::int64_t token = tokens[static_cast<std::size_t>(i / width)];
      ASSERT_EQ(out[static_cast<std::size_t>(i)],
                table[static_cast<std::size_t>(token * width + i % width)]);
    }
  }
}

TYPED_TEST(Embedding, ShardsOfTheVocabularyAddUpToTheWhole) {
  using T = TypeParam;
  const std::int64_t width = 5, shard = kVocab / 3;
  Random random;
  const auto tokens = random.ids(kRows, kVocab);
  const auto table = random.values<T>(kVocab * width), dout = random.values<T>(kRows * width);
  auto whole = poisoned<T>(kRows * width), dwhole = poisoned<T>(kVocab * width);
  embedding_forward(whole.data(), tokens.data(), table.data(), kRows, width, kVocab, 0);
  embedding_backward(dwhole.data(), tokens.data(), dout.data(), kRows, width, kVocab, 0, false);
  std::vector<T> sum(whole.size()), dsum;
  for (std::int64_t first = 0; first < kVocab; first += shard) {
    auto part = poisoned<T>(kRows * width), dpart = poisoned<T>(shard * width);
    embedding_forward(part.data(), tokens.data(), table.data() + first * width, kRows, width, shard,
                      first);
    embedding_backward(dpart.data(), tokens.data(), dout.data(), kRows, width, shard, first, false);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    dsum.insert(dsum.end(), dpart.begin(), dpart.end());
  }
  EXPECT_EQ(sum, whole);
  EXPECT_EQ(dsum, dwhole);
}

TYPED_TEST(Embedding, BackwardAddsUpEveryOccurrenceOfAToken) {
  using T = TypeParam;
  const std::int64_t width = 5;
  Random random;
  const auto tokens = random.ids(kRows, kVocab);
  const auto dout = random.values<T>(kRows * width);
  std::vector<double> want(static_cast<std::size_t>(kVocab * width));
  for (std::int64_t i = 0; i < kRows * width; ++i) {
    const std::int64_t token = tokens[static_cast<std::size_t>(i / width)];
    want[static_cast<std::size_t>(token * width + i % width)] +=
        static_cast<double>(dout[static_cast<std::size_t>(i)]);
  }
  auto dtable = poisoned<T>(kVocab * width);
  embedding_backward(dtable.data(), tokens.data(), dout.data(), kRows, width, kVocab, 0, false);
  expect_near(dtable, want, rounding<T>(kRows));
  embedding_backward(dtable.data(), tokens.data(), dout.data(), kRows, width, kVocab, 0, true);
  for (double& x : want) x *= 2;
  expect_near(dtable, want, rounding<T>(2 * kRows));
}

TEST(Embedding, BackwardIsTheSlopeOfForward) {
  const std::int64_t width = 3, vocab = 4, offset = 2;  // tokens 0, 1 and 6 .. 8 are elsewhere
  Random random;
  const auto tokens = random.ids(kRows, 9);
  const auto table = random.values<double>(vocab * width),
             dy = random.values<double>(kRows * width);
  auto dtable = poisoned<double>(vocab * width);
  embedding_backward(dtable.data(), tokens.data(), dy.data(), kRows, width, vocab, offset, false);
  const auto loss = [&](const std::vector<double>& at) {
    auto out = poisoned<double>(kRows * width);
    embedding_forward(out.data(), tokens.data(), at.data(), kRows, width, vocab, offset);
    return dot(out, dy);
  };
  expect_gradient(loss, table, dtable);
}

struct PositionCase {
  std::int64_t sequence = 3, batch = 2, width = 5, positions = 9, offset = 4;
  std::int64_t elements() const { return sequence * batch * width; }
};

TYPED_TEST(Embedding, PositionsAddTheRowOfTheGlobalPosition) {
  using T = TypeParam;
  const PositionCase c;
  Random random;
  const auto in = random.values<T>(c.elements()), table = random.values<T>(c.positions * c.width);
  auto out = poisoned<T>(c.elements()), in_place = in;
  positions_forward(out.data(), in.data(), table.data(), c.sequence, c.batch, c.width, {c.offset});
  for (std::int64_t i = 0; i < c.elements(); ++i) {
    const std::int64_t position = c.offset + i / (c.batch * c.width);
    ASSERT_EQ(out[static_cast<std::size_t>(i)],
              in[static_cast<std::size_t>(i)] +
                  table[static_cast<std::size_t>(position * c.width + i % c.width)]);
  }
  positions_forward(in_place.data(), in_place.data(), table.data(), c.sequence, c.batch, c.width,
                    {c.offset});
  EXPECT_EQ(in_place, out);
}

// Positions 4, 5 and 6 in texts of 3 tokens: rows 1, 1 and 2.
TYPED_TEST(Embedding, PositionsOfOneTextShareARow) {
  using T = TypeParam;
  const PositionCase c;
  Random random;
  const auto in = random.values<T>(c.elements()), table = random.values<T>(c.positions * c.width);
  auto out = poisoned<T>(c.elements());
  positions_forward(out.data(), in.data(), table.data(), c.sequence, c.batch, c.width, {c.offset},
                    3);
  const std::int64_t rows[] = {1, 1, 2};
  for (std::int64_t i = 0; i < c.elements(); ++i) {
    const std::int64_t row = rows[i / (c.batch * c.width)];
    ASSERT_EQ(out[static_cast<std::size_t>(i)],
              in[static_cast<std::size_t>(i)] +
                  table[static_cast<std::size_t>(row * c.width + i % c.width)]);
  }
}

TEST(Embedding, BackwardOfSharedRowsIsTheSlopeOfForward) {
  const PositionCase c;
  Random random;
  const auto in = random.values<double>(c.elements()), dy = random.values<double>(c.elements());
  const auto table = random.values<double>(c.positions * c.width);
  auto dtable = poisoned<double>(c.positions * c.width);
  positions_backward(dtable.data(), dy.data(), c.sequence, c.batch, c.width, c.positions,
                     {c.offset}, false, 3);
  const auto loss = [&](const std::vector<double>& at) {
    auto out = poisoned<double>(c.elements());
    positions_forward(out.data(), in.data(), at.data(), c.sequence, c.batch, c.width, {c.offset},
                      3);
    return dot(out, dy);
  };
  expect_gradient(loss, table, dtable);
}

TEST(Embedding, PositionsBackwardIsTheSlopeOfForwardAndAccumulates) {
  const PositionCase c;
  Random random;
  const auto in = random.values<double>(c.elements()), dy = random.values<double>(c.elements());
  const auto table = random.values<double>(c.positions * c.width);
  auto dtable = poisoned<double>(c.positions * c.width);
  positions_backward(dtable.data(), dy.data(), c.sequence, c.batch, c.width, c.positions,
                     {c.offset}, false);
  const auto loss = [&](const std::vector<double>& at) {
    auto out = poisoned<double>(c.elements());
    positions_forward(out.data(), in.data(), at.data(), c.sequence, c.batch, c.width, {c.offset});
    return dot(out, dy);
  };
  expect_gradient(loss, table, dtable);
  auto twice = dtable;
  positions_backward(twice.data(), dy.data(), c.sequence, c.batch, c.width, c.positions, {c.offset},
                     true);
  for (double& x : dtable) x *= 2;
  expect_near(twice, dtable, rounding<double>(2 * c.batch));
}

}  // namespace plait::kernels::embedding_test
