#include "kernels/cuda/activation.h"

#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::activation_test {

template <class T>
class CudaActivation : public ::testing::Test {};
TYPED_TEST_SUITE(CudaActivation, Elements);

struct Case {
  std::int64_t rows, width, shift;
};
constexpr Case kCases[] = {{1, 8, 0}, {7, 33, 0}, {3, 64, 1}, {2, 2088, 0}, {70, 24, 0}};
/// The special function units' error on |x| < 4 and the float operations around it.
constexpr std::int64_t kTerms = 8;

/// In [-4, 4): where all three nonlinearities bend.
template <class T>
Numbers<T> wide_numbers(Random& random, std::int64_t n) {
  std::vector<float> x = random.values<float>(n);
  for (float& v : x) v *= 4;
  return narrowed<T>(x);
}

/// test(case, nonlinearity, gated) for all of them.
template <class Test>
void for_each_activation(Test&& test) {
  for (const Case& c : kCases) {
    for (const Nonlinearity f : {Nonlinearity::kGelu, Nonlinearity::kSilu, Nonlinearity::kRelu}) {
      for (const bool gated : {false, true}) test(c, f, gated);
    }
  }
}

TYPED_TEST(CudaActivation, EqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for_each_activation([&](const Case& c, Nonlinearity f, bool gated) {
    const std::int64_t n = c.rows * c.width, in = gated ? 2 * n : n;
    const auto x = wide_numbers<T>(random, in);
    const auto dy = numbers<T>(random, n);
    std::vector<float> y(dy.wide.size()), dx(x.wide.size());
    kernels::activation_forward(y.data(), x.wide.data(), f, gated, c.rows, c.width);
    kernels::activation_backward(dx.data(), dy.wide.data(), x.wide.data(), f, gated, c.rows,
                                 c.width);
    OnDevice<T> device_x(x.narrow, c.shift), device_dy(dy.narrow, c.shift);
    OnDevice<T> device_y(unwritten<T>(n), c.shift), device_dx(unwritten<T>(in), c.shift);
    activation_forward(queue(), device_y.data(), device_x.data(), f, gated, c.rows, c.width);
    activation_backward(queue(), device_dx.data(), device_dy.data(), device_x.data(), f, gated,
                        c.rows, c.width);
    expect_close(device_y, y, kTerms, 4);
    expect_close(device_dx, dx, kTerms, 4);
  });
}

TYPED_TEST(CudaActivation, WeightedEqualsItsTwin) {
  using T = TypeParam;
  Random random;
  for_each_activation([&](const Case& c, Nonlinearity f, bool gated) {
    const std::int64_t n = c.rows * c.width, in = gated ? 2 * n : n;
    const auto x = wide_numbers<T>(random, in);
    const auto dy = numbers<T>(random, n), gates = numbers<T>(random, c.rows);
    std::vector<float> y(dy.wide.size()), dx(x.wide.size()), dgates(gates.wide.size());
    kernels::weighted_activation_forward(y.data(), x.wide.data(), gates.wide.data(), f, gated,
                                         c.rows, c.width);
    kernels::weighted_activation_backward(dx.data(), dgates.data(), dy.wide.data(), x.wide.data(),
                                          gates.wide.data(), f, gated, c.rows, c.width);
    OnDevice<T> device_x(x.narrow, c.shift), device_dy(dy.narrow, c.shift);
    OnDevice<T> device_y(unwritten<T>(n), c.shift), device_dx(unwritten<T>(in), c.shift);
    OnDevice<T> device_gates(gates.narrow), device_dgates(unwritten<T>(c.rows));
    weighted_activation_forward(queue(), device_y.data(), device_x.data(), device_gates.data(), f,
                                gated, c.rows, c.width);
    weighted_activation_backward(queue(), device_dx.data(), device_dgates.data(), device_dy.data(),
                                 device_x.data(), device_gates.data(), f, gated, c.rows, c.width);
    expect_close(device_y, y, kTerms, 4);
    expect_close(device_dx, dx, kTerms, 4);
    expect_close(device_dgates, dgates, kTerms + c.width, 16);
  });
}

TYPED_TEST(CudaActivation, FarFromZeroNothingOverflows) {
  using T = TypeParam;
  const auto x = narrowed<T>({-1000, -90, -20, 20, 90, 1000, 0, -0.5F});
  OnDevice<T> in(x.narrow), out(unwritten<T>(8));
  for (const Nonlinearity f : {Nonlinearity::kGelu, Nonlinearity::kSilu}) {
    std::vector<float> want(8);
    kernels::activation_forward(want.data(), x.wide.data(), f, false, 1, 8);
    activation_forward(queue(), out.data(), in.data(), f, false, 1, 8);
    expect_close(out, want, kTerms);
  }
}

}  // namespace plait::kernels::cuda::activation_test
