#include "kernels/cuda/norm.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::norm_test {

template <class T>
class CudaNorm : public ::testing::Test {};
TYPED_TEST_SUITE(CudaNorm, Elements);

/// Fewer rows than blocks and more; rows of one vector, odd, longer than what is held in registers
/// (kHeld vectors of 1024 threads) with and without vectors.
struct Case {
  std::int64_t rows, width, shift;
};
constexpr Case kCases[] = {{1, 8, 0},   {5, 33, 0},       {150, 64, 0},    {3, 776, 0},
                           {4, 136, 1}, {2, 2 * 8200, 0}, {3, 2 * 1031, 1}};
constexpr double kEpsilon = 1e-5;

template <class T>
struct Inputs {
  Numbers<T> x, dy, gamma, beta;
  std::vector<float> start;  // what gradients are added to
  OnDevice<T> device_x, device_dy, device_gamma, device_beta;
  Inputs(Random& random, const Case& c)
      : x(numbers<T>(random, c.rows * c.width)),
        dy(numbers<T>(random, c.rows * c.width)),
        gamma(numbers<T>(random, c.width)),
        beta(numbers<T>(random, c.width)),
        start(random.values<float>(c.width)),
        device_x(x.narrow, c.shift),
        device_dy(dy.narrow, c.shift),
        device_gamma(gamma.narrow, c.shift),
        device_beta(beta.narrow, c.shift) {}
};

/// Sums of 32 terms, in blocks of each other's sums, of numbers of size 4.
double sum_error(std::int64_t terms) {
  return rounding<float>(std::min<std::int64_t>(terms, 64), 4);
}

template <class T, class G>
void expect_gradient_close(const OnDevice<G>& got, const std::vector<float>& want,
                           std::int64_t rows) {
  const std::vector<G> values = got.values();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto w = static_cast<double>(want[i]);
    const double tolerance = kRoundingError<G> * std::abs(w) + 2 * sum_error(rows);
    ASSERT_NEAR(static_cast<double>(to_float(values[i])), w, tolerance) << "at " << i;
  }
}

TYPED_TEST(CudaNorm, ForwardEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for (const Case& c : kCases) {
    const std::int64_t n = c.rows * c.width;
    Inputs<T> in(random, c);
    for (const bool centred : {true, false}) {
      std::vector<float> y(static_cast<std::size_t>(n)),
          stats(static_cast<std::size_t>(2 * c.rows));
      if (!centred) stats.resize(static_cast<std::size_t>(c.rows));
      OnDevice<T> device_y(unwritten<T>(n), c.shift);
      OnDevice<float> device_stats(unwritten<float>(static_cast<std::int64_t>(stats.size())));
      if (centred) {
        kernels::layer_norm_forward(y.data(), stats.data(), in.x.wide.data(), in.gamma.wide.data(),
                                    in.beta.wide.data(), c.rows, c.width, kEpsilon);
        layer_norm_forward(queue(), device_y.data(), device_stats.data(), in.device_x.data(),
                           in.device_gamma.data(), in.device_beta.data(), c.rows, c.width,
                           kEpsilon);
      } else {
        kernels::rms_norm_forward(y.data(), stats.data(), in.x.wide.data(), in.gamma.wide.data(),
                                  c.rows, c.width, kEpsilon);
        rms_norm_forward(queue(), device_y.data(), device_stats.data(), in.device_x.data(),
                         in.device_gamma.data(), c.rows, c.width, kEpsilon);
      }
      expect_close(device_y, y, 64, 4);
      expect_close(device_stats, stats, 64, 4);
    }
  }
}

template <class T, class G>
void backward_equals_its_twin() {
  Random random;
  for (const Case& c : kCases) {
    const std::int64_t n = c.rows * c.width;
    Inputs<T> in(random, c);
    std::vector<float> y(static_cast<std::size_t>(n)), stats(static_cast<std::size_t>(2 * c.rows));
    for (const bool centred : {true, false}) {
      for (const bool accumulate : {true, false}) {
        const auto start = narrowed<G>(accumulate ? in.start : poisoned<float>(c.width));
        std::vector<float> dx(y.size()), dgamma = start.wide, dbeta = start.wide;
        OnDevice<T> device_dx(unwritten<T>(n), c.shift);
        OnDevice<G> device_dgamma(start.narrow), device_dbeta(start.narrow);
        if (centred) {
          kernels::layer_norm_forward(y.data(), stats.data(), in.x.wide.data(),
                                      in.gamma.wide.data(), in.beta.wide.data(), c.rows, c.width,
                                      kEpsilon);
          kernels::layer_norm_backward(dx.data(), dgamma.data(), dbeta.data(), in.dy.wide.data(),
                                       in.x.wide.data(), stats.data(), in.gamma.wide.data(), c.rows,
                                       c.width, accumulate);
          OnDevice<float> device_stats(stats);
          layer_norm_backward(queue(), device_dx.data(), device_dgamma.data(), device_dbeta.data(),
                              in.device_dy.data(), in.device_x.data(), device_stats.data(),
                              in.device_gamma.data(), c.rows, c.width, accumulate);
          expect_gradient_close<T>(device_dbeta, dbeta, c.rows);
        } else {
          kernels::rms_norm_forward(y.data(), stats.data(), in.x.wide.data(), in.gamma.wide.data(),
                                    c.rows, c.width, kEpsilon);
          kernels::rms_norm_backward(dx.data(), dgamma.data(), in.dy.wide.data(), in.x.wide.data(),
                                     stats.data(), in.gamma.wide.data(), c.rows, c.width,
                                     accumulate);
          OnDevice<float> device_stats(stats);
          rms_norm_backward(queue(), device_dx.data(), device_dgamma.data(), in.device_dy.data(),
                            in.device_x.data(), device_stats.data(), in.device_gamma.data(), c.rows,
                            c.width, accumulate);
        }
        expect_close(device_dx, dx, 64, 4);
        expect_gradient_close<T>(device_dgamma, dgamma, c.rows);
      }
    }
  }
}

TEST(CudaNorm, BackwardEqualsItsTwinInFloat) { backward_equals_its_twin<float, float>(); }
TEST(CudaNorm, BackwardEqualsItsTwinInBf16) {
  backward_equals_its_twin<__nv_bfloat16, __nv_bfloat16>();
}
TEST(CudaNorm, BackwardEqualsItsTwinWithFloatGradients) {
  backward_equals_its_twin<__nv_bfloat16, float>();
}

/// Heads of whole vectors and of parts of them, rows that begin at vectors and that do not; a long
/// row that registers do not hold.
constexpr NormedHeads kHeadCases[] = {
    {.rows = 5, .heads = 3, .width = 16, .row_width = 80, .stats_width = 5},
    {.rows = 40, .heads = 2, .width = 6, .row_width = 21, .stats_width = 3},
    {.rows = 2, .heads = 1, .width = 2 * 8200, .row_width = 2 * 8208, .stats_width = 1}};

template <class T, class G>
void heads_equal_their_twin() {
  Random random;
  for (const NormedHeads& h : kHeadCases) {
    for (const std::int64_t shift : {0, 1}) {
      const std::int64_t n = h.rows * h.row_width;
      const auto x = numbers<T>(random, n), dy = numbers<T>(random, n);
      const auto gamma = numbers<T>(random, h.width);
      const auto start = narrowed<G>(random.values<float>(h.width));
      OnDevice<T> device_x(x.narrow, shift), device_gamma(gamma.narrow, shift);
      OnDevice<T> y(x.narrow, shift), d(dy.narrow, shift);
      OnDevice<float> device_stats(
          std::vector<float>(static_cast<std::size_t>(h.rows * h.stats_width)));
      OnDevice<G> device_dgamma(start.narrow);
      std::vector<float> want = x.wide, dx = dy.wide, dgamma = start.wide;
      std::vector<float> stats(static_cast<std::size_t>(h.rows * h.stats_width));
      kernels::head_norm_forward(want.data(), stats.data(), x.wide.data(), gamma.wide.data(), h,
                                 kEpsilon);
      head_norm_forward(queue(), y.data(), device_stats.data(), device_x.data(),
                        device_gamma.data(), h, kEpsilon);
      expect_close(y, want, 64, 4);
      expect_close(device_stats, stats, 64, 4);
      kernels::head_norm_backward(dx.data(), dgamma.data(), dx.data(), x.wide.data(), stats.data(),
                                  gamma.wide.data(), h, true);
      head_norm_backward(queue(), d.data(), device_dgamma.data(), d.data(), device_x.data(),
                         device_stats.data(), device_gamma.data(), h, true);
      expect_close(d, dx, 64, 4);
      expect_gradient_close<T>(device_dgamma, dgamma, h.rows * h.heads);
    }
  }
}

TEST(CudaHeadNorm, EqualsItsTwinInFloat) { heads_equal_their_twin<float, float>(); }
TEST(CudaHeadNorm, EqualsItsTwinInBf16) { heads_equal_their_twin<__nv_bfloat16, __nv_bfloat16>(); }

TEST(CudaNorm, GivesInputAndParameterGradientsAlone) {
  Random random;
  const Case c{9, 40, 0};
  Inputs<float> in(random, c);
  std::vector<float> y(360), stats(18), dx(360), dgamma(40), dbeta(40);
  kernels::layer_norm_forward(y.data(), stats.data(), in.x.wide.data(), in.gamma.wide.data(),
                              in.beta.wide.data(), c.rows, c.width, kEpsilon);
  kernels::layer_norm_backward(dx.data(), dgamma.data(), dbeta.data(), in.dy.wide.data(),
                               in.x.wide.data(), stats.data(), in.gamma.wide.data(), c.rows,
                               c.width, false);
  OnDevice<float> device_stats(stats), device_dx(unwritten<float>(360));
  OnDevice<float> device_dgamma(unwritten<float>(40)), device_dbeta(unwritten<float>(40));
  const auto backward = [&](float* to_x, float* to_gamma, float* to_beta) {
    layer_norm_backward(queue(), to_x, to_gamma, to_beta, in.device_dy.data(), in.device_x.data(),
                        device_stats.data(), in.device_gamma.data(), c.rows, c.width, false);
  };
  backward(device_dx.data(), nullptr, nullptr);
  backward(nullptr, device_dgamma.data(), device_dbeta.data());
  expect_close(device_dx, dx, 64, 4);
  expect_gradient_close<float>(device_dgamma, dgamma, c.rows);
  expect_gradient_close<float>(device_dbeta, dbeta, c.rows);
}

}  // namespace plait::kernels::cuda::norm_test
