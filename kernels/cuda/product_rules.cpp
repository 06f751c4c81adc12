#include "kernels/cuda/product_rules.h"

#include "core/error.h"

namespace plait::kernels::cuda {
namespace {

constexpr std::int64_t kFp8Multiple = 16;  // elements, and bytes of an address

bool has_fp8(const Factor& f) {
  return f.type == ElementType::kE4m3 || f.type == ElementType::kE5m2;
}
bool starts_aligned(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p) % std::uintptr_t{kFp8Multiple} == 0;
}

void require_fp8(const ProductSize& size, const Factor& a, const Factor& b, const Result& c) {
  PLAIT_CHECK(
      size.m % kFp8Multiple == 0 && size.n % kFp8Multiple == 0 && size.k % kFp8Multiple == 0,
      "fp8 products have sizes of 16");
  PLAIT_CHECK(starts_aligned(a.data) && starts_aligned(b.data) && starts_aligned(c.data),
              "fp8 products begin at multiples of 16 bytes");
  PLAIT_CHECK(!a.transposed && b.transposed, "rows of fp8 factors lie along k");
  PLAIT_CHECK(a.type == ElementType::kE4m3 || b.type == ElementType::kE4m3,
              "a product of two e5m2 factors");
}

}  // namespace

void require_documented(const ProductSize& size, const Factor& a, const Factor& b, const Result& c,
                        const Bias& bias) {
  const bool fp8 = has_fp8(a);
  PLAIT_CHECK(fp8 == has_fp8(b), "a product of fp8 and other numbers");
  if (fp8) require_fp8(size, a, b, c);
  PLAIT_CHECK(bias.data == nullptr || bias.type == (fp8 ? ElementType::kBf16 : c.type),
              "a bias of another type than the result");
}

}  // namespace plait::kernels::cuda
