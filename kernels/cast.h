#pragma once
// Element-wise conversions. bf16 has float's exponent and 7 bits of mantissa; rounding is to
// nearest, ties to even, and NaN stays NaN.

#include <cstdint>

namespace plait::kernels {

/// out[elements] = in[elements], for all pairs of float and double.
template <class To, class From>
void cast(To* out, const From* in, std::int64_t elements);

/// The nearest bf16 of each element, kept as float. `out` may be `in`.
void round_to_bf16(float* out, const float* in, std::int64_t elements);

/// The nearest bf16 of each element, in its two bytes.
void pack_bf16(std::uint16_t* out, const float* in, std::int64_t elements);
void unpack_bf16(float* out, const std::uint16_t* in, std::int64_t elements);

}  // namespace plait::kernels
