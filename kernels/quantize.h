#pragma once
// Numbers as small integers with a scale per block (Dettmers et al. 2022, 8-bit Optimizers via
// Block-wise Quantization, arXiv 2110.02861, section 2.1; linear, symmetric): with m the largest
// magnitude of a block and q = 2^(bits - 1) - 1 the largest integer,
//   scale = m / q        integer = round(x / scale)        x' = integer scale
// so that |x' - x| <= scale / 2. Four-bit integers lie two to a byte, the first in the low half.
//
// Buffers consist of shares that are quantised one by one, for ranks of several nodes: as numbers
// they lie node by node, quantised rank by rank, (ranks, nodes, bytes) with scales (ranks, nodes,
// blocks) (Wang et al. 2023, ZeRO++, arXiv 2306.10209, section 3.3.2).

#include <cstdint>

namespace plait::kernels {

/// n numbers in `blocks` blocks of ceil(n / blocks), the last of what is left.
struct QuantizedShape {
  std::int64_t n = 0, blocks = 1;
  int bits = 8;  // 8 or 4
  constexpr std::int64_t block() const { return (n + blocks - 1) / blocks; }
  constexpr std::int64_t bytes() const { return bits == 8 ? n : (n + 1) / 2; }
};

/// out[bytes], scales[blocks].
template <class T>
void quantize(std::uint8_t* out, T* scales, const T* x, const QuantizedShape& shape);

/// x = or += what was quantized.
template <class T>
void dequantize(T* x, const std::uint8_t* in, const T* scales, const QuantizedShape& shape,
                bool accumulate);

struct QuantizedShares {
  QuantizedShape each;
  std::int64_t ranks = 1, nodes = 1;
};

/// out[ranks, nodes, bytes] and scales[ranks, nodes, blocks] of x[nodes, ranks, n].
template <class T>
void quantize_shares(std::uint8_t* out, T* scales, const T* x, const QuantizedShares& shares);

/// x[ranks, nodes, n]; or where `adds`, x[nodes, n], the sums over ranks.
template <class T>
void dequantize_shares(T* x, const std::uint8_t* in, const T* scales, const QuantizedShares& shares,
                       bool adds);

}  // namespace plait::kernels
