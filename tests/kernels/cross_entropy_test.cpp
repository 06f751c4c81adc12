#include "kernels/cross_entropy.h"

#include "tests/kernels/reference.h"

namespace plait::kernels::cross_entropy_test {

/// Logits of several vocabulary shards, laid out shard by shard, and the steps with the reductions
/// between them done here.
template <class T>
struct Sharded {
  std::int64_t rows, vocab, shards;
  std::vector<std::int64_t> labels;
  std::vector<std::vector<T>> logits;  // per shard (rows, vocab / shards)
  std::vector<T> max, sums;            // reduced

  std::int64_t width() const { return vocab / shards; }

  Sharded(const std::vector<T>& whole, std::vector<std::int64_t> label, std::int64_t parts)
      : rows(static_cast<std::int64_t>(label.size())),
        vocab(static_cast<std::int64_t>(whole.size()) / rows),
        shards(parts),
        labels(std::move(label)) {
    for (std::int64_t p = 0; p < shards; ++p) {
      std::vector<T>& part = logits.emplace_back();
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto first = whole.begin() + r * vocab + p * width();
        part.insert(part.end(), first, first + width());
      }
    }
  }
  double loss(double scale) {
    max.assign(static_cast<std::size_t>(rows), std::numeric_limits<T>::lowest());
    for (const auto& part : logits) {
      auto local = poisoned<T>(rows);
      cross_entropy_max(local.data(), part.data(), rows, width());
      for (std::size_t r = 0; r < max.size(); ++r) max[r] = std::max(max[r], local[r]);
    }
    sums.assign(static_cast<std::size_t>(2 * rows), T(0));
    for (std::int64_t p = 0; p < shards; ++p) {
      auto local = poisoned<T>(2 * rows);
      cross_entropy_sums(local.data(), logits[static_cast<std::size_t>(p)].data(), max.data(),
                         labels.data(), rows, width(), p * width());
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += local[i];
    }
    T out = std::numeric_limits<T>::quiet_NaN();
    cross_entropy_loss(&out, sums.data(), rows, scale);
    return static_cast<double>(out);
  }
  /// After loss(): the gradient in the order of the whole logits.
  std::vector<T> gradient(double scale) {
    std::vector<T> out(static_cast<std::size_t>(rows * vocab));
    for (std::int64_t p = 0; p < shards; ++p) {
      std::vector<T>& part = logits[static_cast<std::size_t>(p)];
      cross_entropy_gradient(part.data(), max.data(), sums.data(), labels.data(), rows, width(),
                             p * width(), scale);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy_n(part.begin() + r * width(), width(), out.begin() + r * vocab + p * width());
      }
    }
    return out;
  }
};

double reference_loss(const std::vector<double>& logits, const std::vector<std::int64_t>& labels,
                      double scale) {
  const std::size_t rows = labels.size(), vocab = logits.size() / rows;
  double total = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < vocab; ++i) sum += std::exp(logits[r * vocab + i]);
    total += std::log(sum) - logits[r * vocab + static_cast<std::size_t>(labels[r])];
  }
  return scale * total;
}

template <class T>
class CrossEntropy : public ::testing::Test {};
TYPED_TEST_SUITE(CrossEntropy, Precisions);

TYPED_TEST(CrossEntropy, LossIsTheScaledSumOfNegativeLogLikelihoods) {
  using T = TypeParam;
  for (const std::int64_t vocab : {1, 3, 17, 65}) {
    for (const std::int64_t rows : {1, 5}) {
      Random random;
      const auto logits = random.values<T>(rows * vocab);
      const auto labels = random.ids(rows, vocab);
      const double scale = 0.25;
      // log of a sum of `vocab` terms relative to the largest: eps times their number, per row.
      EXPECT_NEAR(Sharded<T>(logits, labels, 1).loss(scale),
                  reference_loss(widened(logits), labels, scale),
                  static_cast<double>(rows) * rounding<T>(vocab, 4.0 / static_cast<double>(vocab)));
    }
  }
}

TYPED_TEST(CrossEntropy, ShardsOfTheVocabularyGiveTheLossAndGradientOfTheWhole) {
  using T = TypeParam;
  const std::int64_t rows = 5, vocab = 60;
  Random random;
  const auto logits = random.values<T>(rows * vocab);
  const auto labels = random.ids(rows, vocab);
  Sharded<T> whole(logits, labels, 1);
  const double loss = whole.loss(0.25);
  const auto gradient = whole.gradient(0.25);
  for (const std::int64_t shards : {2, 4, 60}) {
    Sharded<T> parts(logits, labels, shards);
    EXPECT_NEAR(parts.loss(0.25), loss, rounding<T>(vocab, 4.0 / static_cast<double>(vocab)));
    expect_near(parts.gradient(0.25), gradient,
                rounding<T>(vocab, 1.0 / static_cast<double>(vocab)));
  }
}

TYPED_TEST(CrossEntropy, PaddingAddsNothingToTheLossAndHasNoGradient) {
  using T = TypeParam;
  const std::int64_t rows = 4, vocab = 6;
  Random random;
  const auto logits = random.values<T>(rows * vocab);
  std::vector<std::int64_t> labels = random.ids(rows, vocab);
  labels[1] = labels[3] = -1;
  // The same without the rows that are padding.
  std::vector<T> rest(logits.begin(), logits.begin() + vocab);
  rest.insert(rest.end(), logits.begin() + 2 * vocab, logits.begin() + 3 * vocab);
  Sharded<T> without(rest, {labels[0], labels[2]}, 1);
  const double loss = without.loss(0.5);
  const std::vector<T> slope = without.gradient(0.5);
  for (const std::int64_t shards : {1, 2, 3}) {
    Sharded<T> all(logits, labels, shards);
    EXPECT_NEAR(all.loss(0.5), loss, rounding<T>(vocab, 4.0 / static_cast<double>(vocab)));
    std::vector<double> want(static_cast<std::size_t>(rows * vocab));
    std::copy_n(slope.begin(), vocab, want.begin());
    std::copy_n(slope.begin() + vocab, vocab, want.begin() + 2 * vocab);
    expect_near(all.gradient(0.5), want, rounding<T>(vocab, 1.0 / static_cast<double>(vocab)));
  }
}

TEST(CrossEntropy, GradientIsTheSlopeOfTheLoss) {
  for (const std::int64_t vocab : {1, 3, 17}) {
    const std::int64_t rows = 3;
    Random random;
    const auto logits = random.values<double>(rows * vocab);
    const auto labels = random.ids(rows, vocab);
    Sharded<double> at(logits, labels, 1);
    at.loss(0.5);
    expect_gradient(
        [&](const std::vector<double>& x) { return Sharded<double>(x, labels, 1).loss(0.5); },
        logits, at.gradient(0.5));
  }
}

TYPED_TEST(CrossEntropy, LogitsFarFromZeroDoNotOverflow) {
  using T = TypeParam;
  const std::vector<T> logits = {T(1e4), T(-1e4), T(1e4)};
  Sharded<T> at(logits, {2}, 1);
  // Two equal maxima share the probability: the loss is log 2 and the third logit plays no part.
  EXPECT_NEAR(at.loss(1), std::log(2.0), rounding<T>(3));
  expect_near(at.gradient(1), std::vector<double>{0.5, 0, -0.5}, rounding<T>(3));
}

}  // namespace plait::kernels::cross_entropy_test
