#pragma once
// Numbers as small integers with a scale per block (Dettmers et al. 2022, 8-bit Optimizers via
// Block-wise Quantization, arXiv 2110.02861, section 2.1; linear, symmetric): with m the largest
// magnitude of a block and q = 2^(bits - 1) - 1 the largest integer,
//   scale = m / q        integer = round(x / scale)        x' = integer scale
// so that |x' - x| <= scale / 2. Four-bit integers lie two to a byte, the first in the low half.

#include <cstdint>

namespace plait::kernels {

/// n numbers in `blocks` blocks of ceil(n / blocks), the last of what is left.
struct QuantizedShape {
  std::int64_t n = 0, blocks = 1;
  int bits = 8;  // 8 or 4
  std::int64_t block() const { return (n + blocks - 1) / blocks; }
  std::int64_t bytes() const { return bits == 8 ? n : (n + 1) / 2; }
};

/// out[bytes], scales[blocks].
template <class T>
void quantize(std::uint8_t* out, T* scales, const T* x, const QuantizedShape& shape);

/// x = or += what was quantized.
template <class T>
void dequantize(T* x, const std::uint8_t* in, const T* scales, const QuantizedShape& shape,
                bool accumulate);

}  // namespace plait::kernels
