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
  kQ5_1,
  kQ5_0,
  kQ4K,
  kQ4_1,
  kQ4_0,
  kIq4Nl,
  kIq4Xs,
  kQ3K,
  kIq3S,
  kIq3Xxs,
  kQ2K,
  kIq2S,
  kIq2Xs,
  kIq2Xxs,
  kIq1M,
  kIq1S,
  kMxfp4,  // OCP microscaling: blocks of 32 with one 8-bit scale
  kNvfp4,  // blocks of 16 with one 8-bit scale
  kQ5KM,   // mixes: Q5_K and Q4_K, but for down projections (most_of)
  kQ4KM,
  kQ5_1Q8_0,  // what down projections of the mixes fall back to (fallback_of): of no scenario
  kQ5_0Q8_0
};
inline constexpr std::array kWeightFormats = {
    WeightFormat::kPlain,  WeightFormat::kFp8,   WeightFormat::kInt8, WeightFormat::kInt4,
    WeightFormat::kQ8_0,   WeightFormat::kQ6K,   WeightFormat::kQ5K,  WeightFormat::kQ5_1,
    WeightFormat::kQ5_0,   WeightFormat::kQ4K,   WeightFormat::kQ4_1, WeightFormat::kQ4_0,
    WeightFormat::kIq4Nl,  WeightFormat::kIq4Xs, WeightFormat::kQ3K,  WeightFormat::kIq3S,
    WeightFormat::kIq3Xxs, WeightFormat::kQ2K,   WeightFormat::kIq2S, WeightFormat::kIq2Xs,
    WeightFormat::kIq2Xxs, WeightFormat::kIq1M,  WeightFormat::kIq1S, WeightFormat::kMxfp4,
    WeightFormat::kNvfp4,  WeightFormat::kQ5KM,  WeightFormat::kQ4KM};
inline constexpr std::array kFallbackMixes = {WeightFormat::kQ5_1Q8_0, WeightFormat::kQ5_0Q8_0};

/// What a mix has of all matrices but down projections, of which it has Q6_K in half of the layers:
/// the first and last eighth and every third of the others (llama.cpp, src/llama-quant.cpp,
/// use_more_bits). Values' matrices, which are alike, are a part of packed ones here, and not
/// wider. The format itself where it is no mix.
constexpr WeightFormat most_of(WeightFormat f) {
  if (f == WeightFormat::kQ5KM) return WeightFormat::kQ5K;
  if (f == WeightFormat::kQ5_1Q8_0) return WeightFormat::kQ5_1;
  if (f == WeightFormat::kQ5_0Q8_0) return WeightFormat::kQ5_0;
  return f == WeightFormat::kQ4KM ? WeightFormat::kQ4K : f;
}
constexpr bool is_mix(WeightFormat f) { return most_of(f) != f; }

/// Bytes of 256 weights, the super-block of llama.cpp's k-quants; 0: as the computing type.
/// Sources: ggml-common.h, sizes of blocks (block_q4_0: 18 B of 32, block_q4_K: 144 B of 256,
/// block_iq4_xs: 136 B of 256, block_mxfp4: 17 B of 32, block_nvfp4: 36 B of 64, and so on);
/// Frantar et al. 2023 (GPTQ), Lin et al. 2024 (AWQ): 4 bit and 20 bit per group of 128. Of mixes:
/// of down projections, in the mean of the layers.
constexpr std::int64_t bytes_of_256(WeightFormat f) {
  switch (f) {
    case WeightFormat::kPlain: return 0;
    case WeightFormat::kFp8:
    case WeightFormat::kInt8: return 256;
    case WeightFormat::kInt4: return 133;
    case WeightFormat::kQ8_0: return 272;
    case WeightFormat::kQ5_1Q8_0: return 232;
    case WeightFormat::kQ5_0Q8_0: return 224;
    case WeightFormat::kQ6K: return 210;
    case WeightFormat::kQ5KM: return 193;
    case WeightFormat::kQ5_1: return 192;
    case WeightFormat::kQ4KM: return 177;
    case WeightFormat::kQ5K:
    case WeightFormat::kQ5_0: return 176;
    case WeightFormat::kQ4_1: return 160;
    case WeightFormat::kQ4K:
    case WeightFormat::kQ4_0:
    case WeightFormat::kIq4Nl:
    case WeightFormat::kNvfp4: return 144;
    case WeightFormat::kIq4Xs:
    case WeightFormat::kMxfp4: return 136;
    case WeightFormat::kQ3K:
    case WeightFormat::kIq3S: return 110;
    case WeightFormat::kIq3Xxs: return 98;
    case WeightFormat::kQ2K: return 84;
    case WeightFormat::kIq2S: return 82;
    case WeightFormat::kIq2Xs: return 74;
    case WeightFormat::kIq2Xxs: return 66;
    case WeightFormat::kIq1M: return 56;
    case WeightFormat::kIq1S: return 50;
  }
  return 0;
}

/// Weights of a row that share a block, of which a row has a whole number: those of the sources
/// above.
constexpr std::int64_t block_of(WeightFormat f) {
  switch (f) {
    case WeightFormat::kPlain:
    case WeightFormat::kFp8:
    case WeightFormat::kInt8: return 1;
    case WeightFormat::kNvfp4: return 16;
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ5_1:
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ4_0:
    case WeightFormat::kIq4Nl:
    case WeightFormat::kMxfp4:
    case WeightFormat::kQ5_1Q8_0:
    case WeightFormat::kQ5_0Q8_0: return 32;
    case WeightFormat::kInt4: return 128;
    case WeightFormat::kQ6K:
    case WeightFormat::kQ5K:
    case WeightFormat::kQ4K:
    case WeightFormat::kIq4Xs:
    case WeightFormat::kQ3K:
    case WeightFormat::kIq3S:
    case WeightFormat::kIq3Xxs:
    case WeightFormat::kQ2K:
    case WeightFormat::kIq2S:
    case WeightFormat::kIq2Xs:
    case WeightFormat::kIq2Xxs:
    case WeightFormat::kIq1M:
    case WeightFormat::kIq1S:
    case WeightFormat::kQ5KM:
    case WeightFormat::kQ4KM: return 256;
  }
  return 1;
}

/// What llama.cpp packs a matrix in whose rows are not whole blocks of 256 (src/llama-quant.cpp at
/// 007dbbf3, tensor_type_fallback); one whose rows are not whole blocks of that either stays in 16
/// bits. The format itself: there is none.
constexpr WeightFormat fallback_of(WeightFormat f) {
  switch (f) {
    case WeightFormat::kIq4Xs:
    case WeightFormat::kIq3S:
    case WeightFormat::kIq3Xxs:
    case WeightFormat::kIq2S:
    case WeightFormat::kIq2Xs:
    case WeightFormat::kIq2Xxs:
    case WeightFormat::kIq1M:
    case WeightFormat::kIq1S: return WeightFormat::kIq4Nl;
    case WeightFormat::kQ3K:
    case WeightFormat::kQ2K: return WeightFormat::kQ4_0;
    case WeightFormat::kQ4K: return WeightFormat::kQ5_0;
    case WeightFormat::kQ5K: return WeightFormat::kQ5_1;
    case WeightFormat::kQ6K: return WeightFormat::kQ8_0;
    case WeightFormat::kQ4KM: return WeightFormat::kQ5_0Q8_0;
    case WeightFormat::kQ5KM: return WeightFormat::kQ5_1Q8_0;
    case WeightFormat::kPlain:
    case WeightFormat::kFp8:
    case WeightFormat::kInt8:
    case WeightFormat::kInt4:
    case WeightFormat::kQ8_0:
    case WeightFormat::kQ5_1:
    case WeightFormat::kQ5_0:
    case WeightFormat::kQ4_1:
    case WeightFormat::kQ4_0:
    case WeightFormat::kIq4Nl:
    case WeightFormat::kMxfp4:
    case WeightFormat::kNvfp4:
    case WeightFormat::kQ5_1Q8_0:
    case WeightFormat::kQ5_0Q8_0: return f;
  }
  return f;
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
    case WeightFormat::kQ5_1: return "q5_1";
    case WeightFormat::kQ5_0: return "q5_0";
    case WeightFormat::kQ4K: return "q4_k";
    case WeightFormat::kQ4_1: return "q4_1";
    case WeightFormat::kQ4_0: return "q4_0";
    case WeightFormat::kIq4Nl: return "iq4_nl";
    case WeightFormat::kIq4Xs: return "iq4_xs";
    case WeightFormat::kQ3K: return "q3_k";
    case WeightFormat::kIq3S: return "iq3_s";
    case WeightFormat::kIq3Xxs: return "iq3_xxs";
    case WeightFormat::kQ2K: return "q2_k";
    case WeightFormat::kIq2S: return "iq2_s";
    case WeightFormat::kIq2Xs: return "iq2_xs";
    case WeightFormat::kIq2Xxs: return "iq2_xxs";
    case WeightFormat::kIq1M: return "iq1_m";
    case WeightFormat::kIq1S: return "iq1_s";
    case WeightFormat::kMxfp4: return "mxfp4";
    case WeightFormat::kNvfp4: return "nvfp4";
    case WeightFormat::kQ5KM: return "q5_k_m";
    case WeightFormat::kQ4KM: return "q4_k_m";
    case WeightFormat::kQ5_1Q8_0: return "q5_1_q8_0";
    case WeightFormat::kQ5_0Q8_0: return "q5_0_q8_0";
  }
  return "?";
}

}  // namespace plait
