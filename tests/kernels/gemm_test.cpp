#include "kernels/gemm.h"

#include "kernels/bias_grad.h"
#include "tests/kernels/reference.h"

namespace plait::kernels::gemm_test {

struct Sizes {
  std::int64_t m, n, k, batch;
};
constexpr Sizes kSizes[] = {{1, 1, 1, 1}, {3, 5, 17, 1}, {17, 3, 1, 2}, {65, 17, 5, 3}};

/// Element (row, column) of matrix number i, stored row-major as rows x columns.
template <class T>
double at(const std::vector<T>& x, std::int64_t i, std::int64_t rows, std::int64_t columns,
          std::int64_t row, std::int64_t column) {
  return static_cast<double>(x[static_cast<std::size_t>((i * rows + row) * columns + column)]);
}

/// out[i, m, n] = start + sum over k of a(i, m, k) b(i, k, n).
template <class A, class B>
std::vector<double> product(const Sizes& s, std::vector<double> out, A&& a, B&& b) {
  for (std::int64_t i = 0; i < s.batch; ++i) {
    for (std::int64_t m = 0; m < s.m; ++m) {
      for (std::int64_t n = 0; n < s.n; ++n) {
        double& sum = out[static_cast<std::size_t>((i * s.m + m) * s.n + n)];
        for (std::int64_t k = 0; k < s.k; ++k) sum += a(i, m, k) * b(i, k, n);
      }
    }
  }
  return out;
}

template <class T>
class Gemm : public ::testing::Test {
 protected:
  struct Case {
    Sizes s;
    std::vector<T> a, b, out, bias;
    std::vector<double> start;  // what a product adds to
  };
  /// The output starts as NaN, or as numbers when it is accumulated into.
  static Case make(const Sizes& s, bool accumulate) {
    Random random;
    Case c{s,
           random.values<T>(s.batch * s.m * s.k),
           random.values<T>(s.batch * s.k * s.n),
           random.values<T>(s.batch * s.m * s.n),
           random.values<T>(std::max(s.m, s.n)),
           {}};
    c.start.assign(c.out.size(), 0);
    if (accumulate) c.start = widened(c.out);
    if (!accumulate) c.out = poisoned<T>(s.batch * s.m * s.n);
    return c;
  }
  template <class F>
  static void for_each_case(F&& f) {
    for (const Sizes& s : kSizes) {
      for (const bool accumulate : {false, true}) f(make(s, accumulate), accumulate);
    }
  }
};
TYPED_TEST_SUITE(Gemm, Precisions);

TYPED_TEST(Gemm, NTMultipliesByTheTransposedWeightAndAddsBiasToEveryRow) {
  using T = TypeParam;
  this->for_each_case([](auto c, bool accumulate) {
    const Sizes& s = c.s;
    for (const bool biased : {false, true}) {
      std::vector<T> y = c.out;
      gemm_nt(y.data(), c.a.data(), c.b.data(), biased ? c.bias.data() : nullptr, s.m, s.n, s.k,
              s.batch, accumulate);
      std::vector<double> start = c.start;
      for (std::size_t i = 0; biased && i < start.size(); ++i) {
        start[i] += static_cast<double>(c.bias[i % static_cast<std::size_t>(s.n)]);
      }
      const auto want = product(
          s, start, [&](auto i, auto m, auto k) { return at(c.a, i, s.m, s.k, m, k); },
          [&](auto i, auto k, auto n) { return at(c.b, i, s.n, s.k, n, k); });
      expect_near(y, want, rounding<T>(s.k + 2));
    }
  });
}

TYPED_TEST(Gemm, NNMultipliesByTheWeight) {
  using T = TypeParam;
  this->for_each_case([](auto c, bool accumulate) {
    const Sizes& s = c.s;
    gemm_nn(c.out.data(), c.a.data(), c.b.data(), s.m, s.n, s.k, s.batch, accumulate);
    const auto want = product(
        s, c.start, [&](auto i, auto m, auto k) { return at(c.a, i, s.m, s.k, m, k); },
        [&](auto i, auto k, auto n) { return at(c.b, i, s.k, s.n, k, n); });
    expect_near(c.out, want, rounding<T>(s.k + 1));
  });
}

TYPED_TEST(Gemm, TNMultipliesByTheTransposedGradientAndSumsItsColumns) {
  using T = TypeParam;
  this->for_each_case([](auto c, bool accumulate) {
    const Sizes& s = c.s;
    c.bias.resize(static_cast<std::size_t>(s.m));
    std::vector<double> bias_want = widened(c.bias);
    if (!accumulate) {
      bias_want.assign(bias_want.size(), 0);
      c.bias = poisoned<T>(s.m);
    }
    for (std::size_t i = 0; i < c.a.size(); ++i) {
      bias_want[i % static_cast<std::size_t>(s.m)] += static_cast<double>(c.a[i]);
    }
    gemm_tn(c.out.data(), c.bias.data(), c.a.data(), c.b.data(), s.m, s.n, s.k, s.batch,
            accumulate);
    const auto want = product(
        s, c.start, [&](auto i, auto m, auto k) { return at(c.a, i, s.k, s.m, k, m); },
        [&](auto i, auto k, auto n) { return at(c.b, i, s.k, s.n, k, n); });
    expect_near(c.out, want, rounding<T>(s.k + 1));
    expect_near(c.bias, bias_want, rounding<T>(s.k * s.batch + 1));
  });
}

TYPED_TEST(Gemm, TNLeavesTheBiasGradientOutOnRequest) {
  using T = TypeParam;
  const auto c = this->make(kSizes[1], false);
  std::vector<T> with = c.out, without = c.out, bias(3);
  gemm_tn(with.data(), bias.data(), c.a.data(), c.b.data(), 3, 5, 17, 1, false);
  gemm_tn<T>(without.data(), nullptr, c.a.data(), c.b.data(), 3, 5, 17, 1, false);
  EXPECT_EQ(with, without);
}

TYPED_TEST(Gemm, BiasGradientIsTheColumnSums) {
  using T = TypeParam;
  for (const std::int64_t rows : {1, 3, 65}) {
    const std::int64_t width = 17;
    const auto dy = Random().values<T>(rows * width);
    std::vector<double> want(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < dy.size(); ++i) want[i % 17] += static_cast<double>(dy[i]);
    auto dbias = poisoned<T>(width);
    bias_grad(dbias.data(), dy.data(), rows, width, false);
    expect_near(dbias, want, rounding<T>(rows));
    bias_grad(dbias.data(), dy.data(), rows, width, true);
    for (double& x : want) x *= 2;
    expect_near(dbias, want, rounding<T>(2 * rows));
  }
}

}  // namespace plait::kernels::gemm_test
