// Matrix products of emulated kernels: what cuBLASLt does, by OpenBLAS in float.

#include <vector>

#include "kernels/blas.h"
#include "kernels/cuda/element.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/product_rules.h"
#include "tests/emulated_cuda/emulated_runtime.h"

namespace plait::kernels::cuda {
namespace {

template <class F>
void with_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kFloat: return f(float{});
    case ElementType::kBf16: return f(__nv_bfloat16{});
    case ElementType::kFp16: return f(__half{});
    case ElementType::kE4m3: return f(__nv_fp8_e4m3{});
    case ElementType::kE5m2: return f(__nv_fp8_e5m2{});
  }
}

/// rows x columns elements, `stride` apart, as dense floats.
std::vector<float> widened(const void* data, ElementType type, std::int64_t first,
                           std::int64_t rows, std::int64_t columns, std::int64_t stride,
                           float scale) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(rows * columns));
  with_type(type, [&](auto zero) {
    const auto* from = static_cast<const decltype(zero)*>(data) + first;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        out.push_back(scale * static_cast<float>(from[r * stride + c]));
      }
    }
  });
  return out;
}
std::vector<float> factor_of(const Factor& f, std::int64_t rows, std::int64_t columns,
                             std::int64_t index) {
  if (f.transposed) std::swap(rows, columns);
  return widened(f.data, f.type, index * f.batch_stride, rows, columns, f.stride,
                 f.scale == nullptr ? 1.0F : *f.scale);
}
Transposed flag(const Factor& f) { return f.transposed ? Transposed::kYes : Transposed::kNo; }

}  // namespace

struct Products::State {};
Products::Products(FloatProducts) {}
Products::~Products() = default;

namespace {

void product_now(const ProductSize& size, float alpha, const Factor& a, const Factor& b, float beta,
                 const Result& c, const Bias& bias) {
  const std::int64_t m = size.m, n = size.n, k = size.k;  // clang++ 14 captures no bindings
  for (std::int64_t i = 0; i < size.batch; ++i) {
    const std::vector<float> left = factor_of(a, m, k, i), right = factor_of(b, k, n, i);
    std::vector<float> sum(static_cast<std::size_t>(m * n));
    if (beta != 0) sum = widened(c.data, c.type, i * c.batch_stride, m, n, c.stride, 1);
    blas_gemm<float>(flag(a), flag(b), m, n, k, alpha, {left.data(), a.transposed ? m : k},
                     {right.data(), b.transposed ? k : n}, beta, {sum.data(), n});
    std::vector<float> offsets(static_cast<std::size_t>(n));
    if (bias.data != nullptr) offsets = widened(bias.data, bias.type, 0, 1, n, n, 1);
    with_type(c.type, [&](auto zero) {
      auto* to = static_cast<decltype(zero)*>(c.data) + i * c.batch_stride;
      for (std::int64_t at = 0; at < m * n; ++at) {
        const float x =
            sum[static_cast<std::size_t>(at)] + offsets[static_cast<std::size_t>(at % n)];
        to[at / n * c.stride + at % n] = static_cast<decltype(zero)>(x);
      }
    });
  }
}

}  // namespace

void product(const Queue& q, const ProductSize& size, float alpha, const Factor& a, const Factor& b,
             float beta, const Result& c, const Bias& bias) {
  require_documented(size, a, b, c, bias);
  emulated::queue_on(q.stream, [=] { product_now(size, alpha, a, b, beta, c, bias); });
}

}  // namespace plait::kernels::cuda
