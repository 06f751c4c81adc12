#include "kernels/cast.h"

#include <bit>

namespace plait::kernels {
namespace {

/// Bits of the nearest bf16 in the upper half, zeros below. Half a unit in the last place (0x8000)
/// is added, less one where the kept part is even: that settles ties. The carry may run into the
/// exponent, which is right up to infinity, but not from NaN, whose quiet bit is set instead.
std::uint32_t nearest_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const std::uint32_t quiet = bits | 0x00400000U;
  return (x != x ? quiet : rounded) & 0xFFFF0000U;
}

}  // namespace

template <class To, class From>
void cast(To* out, const From* in, std::int64_t elements) {
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) out[i] = static_cast<To>(in[i]);
}

template void cast(float*, const float*, std::int64_t);
template void cast(float*, const double*, std::int64_t);
template void cast(double*, const float*, std::int64_t);
template void cast(double*, const double*, std::int64_t);

void round_to_bf16(float* out, const float* in, std::int64_t elements) {
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) out[i] = std::bit_cast<float>(nearest_bf16(in[i]));
}

void pack_bf16(std::uint16_t* out, const float* in, std::int64_t elements) {
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) {
    out[i] = static_cast<std::uint16_t>(nearest_bf16(in[i]) >> 16);
  }
}

void unpack_bf16(float* out, const std::uint16_t* in, std::int64_t elements) {
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) {
    out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(in[i]) << 16);
  }
}

}  // namespace plait::kernels
