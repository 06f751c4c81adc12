#pragma once
// How the weights of a linear layer are stored where products read them in a narrower form than
// they compute in: quantised once, dequantised on the way into the matrix units. Blocks of weights
// share a scale, so a weight takes a fraction of a byte.

#include <array>
#include <cstdint>
#include <string_view>

namespace plait {

enum class WeightFormat : std::uint8_t {
  kPlain,  // in the type that the product computes in
  kFp8,
  kInt8,
  kInt4,  // AWQ and GPTQ: groups of 128 with a 16-bit scale and a 4-bit zero
  kQ8_0,
  kQ6K,
  kQ5K,
  kQ4K,
  kQ4_0,
  kQ3K,
  kQ2K,
  kMxfp4  // OCP microscaling: blocks of 32 with one 8-bit scale
};
inline constexpr std::array kWeightFormats = {
    WeightFormat::kPlain, WeightFormat::kFp8, WeightFormat::kInt8, WeightFormat::kInt4,
    WeightFormat::kQ8_0,  WeightFormat::kQ6K, WeightFormat::kQ5K,  WeightFormat::kQ4K,
    WeightFormat::kQ4_0,  WeightFormat::kQ3K, WeightFormat::kQ2K,  WeightFormat::kMxfp4};

/// Bytes of 256 weights, the super-block of llama.cpp's k-quants; 0: as the computing type.
/// Sources: ggml-common.h (block_q4_0: 18 B of 32, block_q8_0: 34 B of 32, block_q4_K: 144 B,
/// block_q5_K: 176 B, block_q6_K: 210 B, block_q3_K: 110 B, block_q2_K: 84 B of 256, block_mxfp4:
/// 17 B of 32); Frantar et al. 2023 (GPTQ), Lin et al. 2024 (AWQ):
/// 4 bit and 20 bit per group of 128.
constexpr std::int64_t bytes_of_256(WeightFormat f) {
  switch (f) {
    case WeightFormat::kPlain: return 0;
    case WeightFormat::kFp8:
    case WeightFormat::kInt8: return 256;
    case WeightFormat::kInt4: return 133;
    case WeightFormat::kQ8_0: return 272;
    case WeightFormat::kQ6K: return 210;
    case WeightFormat::kQ5K: return 176;
    case WeightFormat::kQ4K:
    case WeightFormat::kQ4_0: return 144;
    case WeightFormat::kQ3K: return 110;
    case WeightFormat::kQ2K: return 84;
    case WeightFormat::kMxfp4: return 136;
  }
  return 0;
}

/// "q4_0", "int4": as scenarios write them.
constexpr std::string_view name_of(WeightFormat f) {
  switch (f) {
    case WeightFormat::kPlain: return "plain";
    case WeightFormat::kFp8: return "fp8_weights";
    case WeightFormat::kInt8: return "int8";
    case WeightFormat::kInt4: return "int4";
    case WeightFormat::kQ8_0: return "q8_0";
    case WeightFormat::kQ6K: return "q6_k";
    case WeightFormat::kQ5K: return "q5_k";
    case WeightFormat::kQ4K: return "q4_k";
    case WeightFormat::kQ4_0: return "q4_0";
    case WeightFormat::kQ3K: return "q3_k";
    case WeightFormat::kQ2K: return "q2_k";
    case WeightFormat::kMxfp4: return "mxfp4";
  }
  return "?";
}

}  // namespace plait
