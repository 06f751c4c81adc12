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
    for (std::int64_t i = first; i < end; ++i) {
      const T integer = scales[b] > 0 ? std::nearbyint(x[i] / scales[b]) : T(0);
      put(out, i, static_cast<int>(integer), s.bits);
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

template <class T>
void quantize_shares(std::uint8_t* out, T* scales, const T* x, const QuantizedShares& s) {
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int64_t node = 0; node < s.nodes; ++node) {
      const std::int64_t to = rank * s.nodes + node, from = node * s.ranks + rank;
      quantize(out + to * s.each.bytes(), scales + to * s.each.blocks, x + from * s.each.n, s.each);
    }
  }
}

template <class T>
void dequantize_shares(T* x, const std::uint8_t* in, const T* scales, const QuantizedShares& s,
                       bool adds) {
  for (std::int64_t rank = 0; rank < s.ranks; ++rank) {
    for (std::int64_t node = 0; node < s.nodes; ++node) {
      const std::int64_t from = rank * s.nodes + node, to = adds ? node : from;
      dequantize(x + to * s.each.n, in + from * s.each.bytes(), scales + from * s.each.blocks,
                 s.each, adds && rank > 0);
    }
  }
}

#define PLAIT_INSTANTIATE(T)                                                                    \
  template void quantize<T>(std::uint8_t*, T*, const T*, const QuantizedShape&);                \
  template void dequantize<T>(T*, const std::uint8_t*, const T*, const QuantizedShape&, bool);  \
  template void quantize_shares<T>(std::uint8_t*, T*, const T*, const QuantizedShares&);        \
  template void dequantize_shares<T>(T*, const std::uint8_t*, const T*, const QuantizedShares&, \
                                     bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
