#include "kernels/add.h"

#include <set>

#include "tests/kernels/reference.h"

namespace plait::kernels::add_test {

constexpr std::int64_t kSequence = 6, kBatch = 4, kWidth = 17;
constexpr std::int64_t kElements = kSequence * kBatch * kWidth;

Dropout dropout(double probability) {
  Dropout d;
  d.probability = probability, d.seed = 7, d.positions = kSequence;
  return d;
}

template <class T>
class Add : public ::testing::Test {};
TYPED_TEST_SUITE(Add, Precisions);

TYPED_TEST(Add, SumsAndAddsBiasToEveryRow) {
  using T = TypeParam;
  Random random;
  for (const std::int64_t width : {1, 3, 65}) {
    const std::int64_t rows = 5;
    const auto a = random.values<T>(rows * width), b = random.values<T>(rows * width);
    const auto bias = random.values<T>(width);
    for (const bool biased : {false, true}) {
      std::vector<double> want;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double extra = static_cast<double>(bias[i % static_cast<std::size_t>(width)]);
        want.push_back(static_cast<double>(a[i]) + static_cast<double>(b[i]) +
                       (biased ? extra : 0));
      }
      auto out = poisoned<T>(rows * width), in_place = a;
      const T* bias_or_null = biased ? bias.data() : nullptr;
      add(out.data(), a.data(), b.data(), bias_or_null, rows, width);
      expect_near(out, want, rounding<T>(3));
      add(in_place.data(), in_place.data(), b.data(), bias_or_null, rows, width);
      EXPECT_EQ(in_place, out);
      in_place = b;
      add(in_place.data(), a.data(), in_place.data(), bias_or_null, rows, width);
      EXPECT_EQ(in_place, out);
    }
  }
}

// Of rows of 7 the columns from 2 on, as an adapter's that stands beside others.
TYPED_TEST(Add, ScaledChangesItsColumnsAloneAndBackwardScalesThese) {
  using T = TypeParam;
  Random random;
  const std::int64_t rows = 3, width = 4, stride = 7, first = 2;
  const auto b = random.values<T>(rows * width), before = random.values<T>(rows * stride);
  auto out = before, db = poisoned<T>(rows * width);
  add_scaled(out.data() + first, b.data(), 0.75, rows, width, stride);
  add_scaled_backward(db.data(), before.data() + first, 0.75, rows, width, stride);
  std::vector<double> want, gradient;
  for (std::int64_t i = 0; i < rows * stride; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t column = i % stride - first;
    const bool adds = column >= 0 && column < width;
    const auto from = static_cast<std::size_t>(i / stride * width + column);
    want.push_back(static_cast<double>(before[at]) +
                   (adds ? 0.75 * static_cast<double>(b[from]) : 0));
    if (adds) gradient.push_back(0.75 * static_cast<double>(before[at]));
  }
  expect_near(out, want, rounding<T>(2));
  expect_near(db, gradient, rounding<T>(1));
}

TYPED_TEST(Add, DropoutScalesWhatTheMaskKeepsOfBranchAndBias) {
  using T = TypeParam;
  Random random;
  const auto a = random.values<T>(kElements), b = random.values<T>(kElements);
  const auto bias = random.values<T>(kWidth);
  for (const bool biased : {false, true}) {
    auto out = poisoned<T>(kElements);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(kElements), 9);
    add_dropout(out.data(), mask.data(), a.data(), b.data(), biased ? bias.data() : nullptr,
                kSequence, kBatch, kWidth, dropout(0.25));
    std::vector<double> want;
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_LE(mask[i], 1);
      const double branch =
          static_cast<double>(b[i]) + (biased ? static_cast<double>(bias[i % kWidth]) : 0);
      want.push_back(static_cast<double>(a[i]) + mask[i] * branch / 0.75);
    }
    expect_near(out, want, rounding<T>(3, 2));
  }
}

TYPED_TEST(Add, DropoutOfProbabilityZeroIsASum) {
  using T = TypeParam;
  Random random;
  const auto a = random.values<T>(kElements), b = random.values<T>(kElements);
  auto sum = poisoned<T>(kElements), out = sum;
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(kElements));
  add<T>(sum.data(), a.data(), b.data(), nullptr, kSequence * kBatch, kWidth);
  add_dropout<T>(out.data(), mask.data(), a.data(), b.data(), nullptr, kSequence, kBatch, kWidth,
                 dropout(0));
  EXPECT_EQ(out, sum);
}

TEST(Add, DropoutBackwardIsTheSlopeOfForward) {
  Random random;
  const auto a = random.values<double>(kElements), b = random.values<double>(kElements);
  const auto dy = random.values<double>(kElements);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(kElements));
  const auto loss = [&](const std::vector<double>& at) {
    auto out = poisoned<double>(kElements);
    add_dropout<double>(out.data(), mask.data(), a.data(), at.data(), nullptr, kSequence, kBatch,
                        kWidth, dropout(0.25));
    return dot(out, dy);
  };
  loss(b);
  auto db = poisoned<double>(kElements);
  add_dropout_backward(db.data(), dy.data(), mask.data(), kElements, 0.25);
  expect_gradient(loss, b, db);
}

std::vector<std::uint8_t> mask_of(std::int64_t sequence, std::int64_t batch, std::int64_t width,
                                  const Dropout& d) {
  const std::vector<float> zero(static_cast<std::size_t>(sequence * batch * width));
  std::vector<float> out(zero.size());
  std::vector<std::uint8_t> mask(zero.size(), 9);
  add_dropout<float>(out.data(), mask.data(), zero.data(), zero.data(), nullptr, sequence, batch,
                     width, d);
  return mask;
}

TEST(Dropout, ABlockOfTheBatchDrawsTheMaskOfTheWhole) {
  const auto whole = mask_of(kSequence, kBatch, kWidth, dropout(0.5));
  for (const std::int64_t s0 : {0, 3}) {
    for (const std::int64_t b0 : {0, 1, 2, 3}) {
      Dropout d = dropout(0.5);
      d.place.first = s0, d.sample_offset = b0;
      const auto part = mask_of(3, 1, kWidth, d);
      for (std::int64_t s = 0; s < 3; ++s) {
        const std::vector<std::uint8_t> got(part.begin() + s * kWidth,
                                            part.begin() + (s + 1) * kWidth);
        const auto row = whole.begin() + ((s0 + s) * kBatch + b0) * kWidth;
        EXPECT_EQ(got, std::vector<std::uint8_t>(row, row + kWidth));
      }
    }
  }
}

TEST(Dropout, EverySampleHeadAndPositionHasAKeyOfItsOwn) {
  Dropout d = dropout(0.5);
  d.positions = 5, d.heads = 3;
  std::set<std::uint64_t> keys;
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    for (std::int64_t head = 0; head < d.heads; ++head) {
      for (std::int64_t s = 0; s < d.positions; ++s) {
        keys.insert(dropout_row_key(d, sample, s, head));
      }
    }
  }
  EXPECT_EQ(keys.size(), 4U * 3U * 5U);
}

TEST(Dropout, BothHalvesOfAKeyChangeTheDraw) {
  // 32 equal bits of 32 random ones, by chance: once in 2^32.
  EXPECT_NE(dropout_draw(5, 1), dropout_draw(5 + (std::uint64_t{1} << 40), 1));
  EXPECT_NE(dropout_draw(5, 1), dropout_draw(6, 1));
}

TEST(Dropout, KeepsTheExpectedShareIndependentlyOfNeighboursAndSeeds) {
  const std::int64_t sequence = 64, batch = 4, width = 256;
  const auto n = static_cast<double>(sequence * batch * width);
  const double sigma = std::sqrt(n * 0.25);
  Dropout d = dropout(0.5);
  d.positions = sequence;
  const auto mask = mask_of(sequence, batch, width, d);
  d.seed = 8;
  const auto other = mask_of(sequence, batch, width, d);
  double kept = 0, like_next = 0, like_next_row = 0, like_other = 0;
  const auto row = static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    kept += mask[i];
    like_next += mask[i] == mask[(i + 1) % mask.size()];
    like_next_row += mask[i] == mask[(i + row) % mask.size()];
    like_other += mask[i] == other[i];
  }
  // Each counts n fair coins: five standard deviations.
  for (const double count : {kept, like_next, like_next_row, like_other}) {
    EXPECT_NEAR(count, n / 2, 5 * sigma);
  }
}

}  // namespace plait::kernels::add_test
