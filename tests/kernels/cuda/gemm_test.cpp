#include "kernels/cuda/gemm.h"

#include <fmt/format.h>

#include "core/error.h"
#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/queue.h"
#include "kernels/gemm.h"
#include "tests/kernels/cuda/device.h"

namespace plait::kernels::cuda::gemm_test {

struct Case {
  std::int64_t m, n, k, batch;
  std::int64_t bias_shift = 0;
};
constexpr Case kCases[] = {{16, 32, 48, 1, 1}, {8, 24, 40, 3}, {128, 64, 256, 1}};

/// A sum beside its twin: cuBLASLt rounds the product to the result's type before it adds it (13.0
/// on an H200, bf16), so what was added may be off by a rounding of its own.
template <class Y>
void expect_added(const OnDevice<Y>& got, const std::vector<float>& want,
                  const std::vector<float>& start, std::int64_t terms) {
  const std::vector<Y> values = got.values();
  ASSERT_EQ(values.size(), want.size());
  const double floats = rounding<float>(terms);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double w = want[i], added = std::abs(w - start[i]);
    const double tolerance = 1.01 * kRoundingError<Y> * (std::abs(w) + added + floats) + floats;
    ASSERT_NEAR(to_float(values[i]), w, tolerance) << "at " << i;
  }
}

template <class Y, class X>
void products_equal_their_twins() {
  Random random;
  for (const Case& c : kCases) {
    const auto a = numbers<X>(random, c.m * c.k * c.batch),
               b = numbers<X>(random, c.n * c.k * c.batch);
    const auto bias = numbers<X>(random, c.n);
    const auto y = numbers<Y>(random, c.m * c.n * c.batch), dbias = numbers<Y>(random, c.m);
    OnDevice<X> device_a(a.narrow), device_b(b.narrow), device_bias(bias.narrow, c.bias_shift);
    for (const bool accumulate : {false, true}) {
      // A bias of another type than the result is no epilogue of cuBLASLt's.
      const bool biased = std::is_same_v<X, Y> && c.batch == 1;
      std::vector<float> nt = y.wide, nn = y.wide, tn = y.wide, column_sums = dbias.wide;
      kernels::gemm_nt(nt.data(), a.wide.data(), b.wide.data(), biased ? bias.wide.data() : nullptr,
                       c.m, c.n, c.k, c.batch, accumulate);
      kernels::gemm_nn(nn.data(), a.wide.data(), b.wide.data(), c.m, c.n, c.k, c.batch, accumulate);
      kernels::gemm_tn(tn.data(), column_sums.data(), a.wide.data(), b.wide.data(), c.m, c.n, c.k,
                       c.batch, accumulate);
      OnDevice<Y> device_nt(y.narrow), device_nn(y.narrow), device_tn(y.narrow), sums(dbias.narrow);
      gemm_nt(queue(), device_nt.data(), device_a.data(), device_b.data(),
              biased ? device_bias.data() : nullptr, c.m, c.n, c.k, c.batch, accumulate);
      gemm_nn(queue(), device_nn.data(), device_a.data(), device_b.data(), c.m, c.n, c.k, c.batch,
              accumulate);
      gemm_tn(queue(), device_tn.data(), sums.data(), device_a.data(), device_b.data(), c.m, c.n,
              c.k, c.batch, accumulate);
      const auto expect = [&](const char* what, const OnDevice<Y>& got,
                              const std::vector<float>& want, const std::vector<float>& start,
                              std::int64_t terms) {
        SCOPED_TRACE(fmt::format("{} of {} x {} x {}, {} times, {}", what, c.m, c.n, c.k, c.batch,
                                 accumulate ? "added" : "written"));
        if (accumulate) {
          expect_added(got, want, start, terms);
        } else {
          expect_close(got, want, terms);
        }
      };
      expect("nt", device_nt, nt, y.wide, c.k);
      expect("nn", device_nn, nn, y.wide, c.k);
      expect("tn", device_tn, tn, y.wide, c.k);
      expect("column sums", sums, column_sums, dbias.wide, c.k * c.batch);
    }
  }
}
TEST(CudaGemm, EqualsItsTwin) {
  products_equal_their_twins<float, float>();
  products_equal_their_twins<float, __nv_bfloat16>();
  products_equal_their_twins<__nv_bfloat16, __nv_bfloat16>();
}

template <class T>
std::vector<float> widened_fp8(const std::vector<T>& x, float scale) {
  std::vector<float> out;
  for (const T v : x) out.push_back(scale * static_cast<float>(v));
  return out;
}
TEST(CudaGemm, Fp8ScalesBothOperands) {
#ifndef PLAIT_EMULATED_CUDA
  cudaDeviceProp device{};
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  if (device.major * 10 + device.minor < 89) GTEST_SKIP() << "no fp8 on " << device.name;
#endif
  Random random;
  constexpr std::int64_t kM = 32, kN = 48, kK = 64;
  std::vector<__nv_fp8_e5m2> x;
  std::vector<__nv_fp8_e4m3> w;
  for (const float v : random.values<float>(kM * kK)) x.emplace_back(v);
  for (const float v : random.values<float>(kN * kK)) w.emplace_back(v);
  const auto bias = numbers<__nv_bfloat16>(random, kN);
  std::vector<float> want(static_cast<std::size_t>(kM * kN));
  kernels::gemm_nt(want.data(), widened_fp8(x, 0.5F).data(), widened_fp8(w, 4.0F).data(),
                   bias.wide.data(), kM, kN, kK, 1, false);
  OnDevice<__nv_fp8_e5m2> device_x(x);
  OnDevice<__nv_fp8_e4m3> device_w(w);
  OnDevice<__nv_bfloat16> device_bias(bias.narrow), y(unwritten<__nv_bfloat16>(kM * kN));
  OnDevice<float> scale_x({0.5F}), scale_w({4.0F});
  gemm_fp8(queue(), y.data(), device_x.data(), device_w.data(), device_bias.data(), scale_x.data(),
           scale_w.data(), kM, kN, kK, false);
  expect_close(y, want, kK, 2);
}

/// cuBLASLt's guide: what cublasLtMatmul takes.
TEST(CudaGemm, IsAskedForNothingThatCublasLtHasNot) {
  OnDevice<float> wide(unwritten<float>(1024));
  OnDevice<__nv_bfloat16> narrow(unwritten<__nv_bfloat16>(1024));
  OnDevice<__nv_fp8_e5m2> e5m2(std::vector<__nv_fp8_e5m2>(1024));
  OnDevice<__nv_fp8_e4m3> e4m3(std::vector<__nv_fp8_e4m3>(1024));
  const ProductSize size{16, 16, 16, 1};
  const Result y = result(wide.data(), 16, 0);
  const auto refused = [&](const Factor& a, const Factor& b, const Bias& bias = {}) {
    EXPECT_THROW(product(queue(), size, 1, a, b, 0, y, bias), InternalError);
  };
  const Factor bf16 = factor(narrow.data(), false, 16, 0), fp32 = factor(wide.data(), true, 16, 0);
  refused(bf16, bf16, {narrow.data(), ElementType::kBf16});  // the result is fp32
  const Factor x = factor(e5m2.data(), false, 16, 0), w = factor(e4m3.data(), true, 16, 0);
  refused(x, factor(e5m2.data(), true, 16, 0));
  refused(x, fp32);
  refused(x, factor(e4m3.data(), false, 16, 0));
  refused(factor(e5m2.data(), true, 16, 0), w);
  refused(x, factor(e4m3.data() + 1, true, 16, 0));
}

template <class G, class T>
void bias_grad_equals_its_twin() {
  Random random;
  for (const auto& [rows, width, shift] : {std::tuple{1, 8, 0}, std::tuple{150, 33, 0},
                                           std::tuple{700, 64, 1}, std::tuple{9, 2088, 0}}) {
    const auto dy = numbers<T>(random, rows * width);
    const auto start = numbers<G>(random, width);
    for (const bool accumulate : {false, true}) {
      std::vector<float> want = start.wide;
      kernels::bias_grad(want.data(), dy.wide.data(), rows, width, accumulate);
      OnDevice<T> device_dy(dy.narrow, shift);
      OnDevice<G> dbias(accumulate ? start.narrow : unwritten<G>(width));
      bias_grad(queue(), dbias.data(), device_dy.data(), rows, width, accumulate);
      expect_close(dbias, want, std::min(rows, 128));
    }
  }
}
TEST(CudaBiasGrad, NeedsScratchForOneLineOfPartialSumsOnly) {
  Random random;
  constexpr std::int64_t kRows = 100, kWidth = 40, kLines = 8;  // 256 threads, 32 along a row
  const auto dy = random.values<float>(kRows * kWidth);
  std::vector<float> want(kWidth);
  kernels::bias_grad(want.data(), dy.data(), kRows, kWidth, false);
  OnDevice<float> device_dy(dy), dbias(unwritten<float>(kWidth));
  OnDevice<float> scratch(unwritten<float>(kLines * kWidth));  // a line for each row of a block
  Queue q = queue();
  q.scratch = scratch.data(), q.kernel_scratch_bytes = kLines * kWidth * sizeof(float);
  bias_grad(q, dbias.data(), device_dy.data(), kRows, kWidth, false);
  expect_close(dbias, want, kRows);
  scratch.values();  // nothing beside it was written
}
TEST(CudaBiasGrad, EqualsItsTwin) {
  bias_grad_equals_its_twin<float, float>();
  bias_grad_equals_its_twin<float, __nv_bfloat16>();
  bias_grad_equals_its_twin<__nv_bfloat16, __nv_bfloat16>();
}

}  // namespace plait::kernels::cuda::gemm_test
