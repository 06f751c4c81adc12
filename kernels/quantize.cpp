#include "kernels/quantize.h"

#include <algorithm>
#include <cmath>

namespace plait::kernels {
namespace {

std::uint8_t bits_of(int integer) { return static_cast<std::uint8_t>(integer & 0xFF); }

void put(std::uint8_t* out, std::int64_t i, int integer, int bits) {
  if (bits == 8) {
    out[i] = bits_of(integer);
  } else if (i % 2 == 0) {
    out[i / 2] = bits_of(integer & 0xF);
  } else {
    out[i / 2] = bits_of(out[i / 2] | (integer & 0xF) << 4);
  }
}
int taken(const std::uint8_t* in, std::int64_t i, int bits) {
  if (bits == 8) return static_cast<std::int8_t>(in[i]);
  const int half = i % 2 == 0 ? in[i / 2] & 0xF : in[i / 2] >> 4;
  return half < 8 ? half : half - 16;
}

}  // namespace

template <class T>
void quantize(std::uint8_t* out, T* scales, const T* x, const QuantizedShape& s) {
  const T most = static_cast<T>((1 << (s.bits - 1)) - 1);
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t first = std::min(b * s.block(), s.n);
    const std::int64_t end = std::min(first + s.block(), s.n);
    T largest = 0;
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
    scales[b] = largest / most;
    const T inverse = largest > 0 ? most / largest : T(0);
    for (std::int64_t i = first; i < end; ++i) {
      put(out, i, static_cast<int>(std::nearbyint(x[i] * inverse)), s.bits);
    }
  }
}

template <class T>
void dequantize(T* x, const std::uint8_t* in, const T* scales, const QuantizedShape& s,
                bool accumulate) {
  for (std::int64_t i = 0; i < s.n; ++i) {
    const T value = static_cast<T>(taken(in, i, s.bits)) * scales[i / s.block()];
    x[i] = accumulate ? x[i] + value : value;
  }
}

#define PLAIT_INSTANTIATE(T)                                                     \
  template void quantize<T>(std::uint8_t*, T*, const T*, const QuantizedShape&); \
  template void dequantize<T>(T*, const std::uint8_t*, const T*, const QuantizedShape&, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
