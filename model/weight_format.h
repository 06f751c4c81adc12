#pragma once
// How the weights of a linear layer are stored where products read them in a narrower form than
// they compute in: quantised once, dequantised on the way into the matrix units. Blocks of weights
// share a scale, so a weight takes a fraction of a byte.

#include <array>
#include <cstddef>
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

/// What a format is: the functions below say what each of it means.
struct WeightFormatFacts {
  WeightFormat format;
  std::string_view name;
  std::int64_t bytes_of_256;
  std::int64_t block;
  WeightFormat fallback;
  WeightFormat most;
};

namespace weight_formats {
using enum WeightFormat;
/// In the order of the enumeration. Sources: ggml-common.h, sizes of blocks (block_q4_0: 18 B of
/// 32, block_q4_K: 144 B of 256, block_iq4_xs: 136 B of 256, block_mxfp4: 17 B of 32, block_nvfp4:
/// 36 B of 64, and so on); Frantar et al. 2023 (GPTQ), Lin et al. 2024 (AWQ): 4 bit and 20 bit per
/// group of 128; fallbacks: llama.cpp, src/llama-quant.cpp at 007dbbf3, tensor_type_fallback.
inline constexpr std::array<WeightFormatFacts, 29> kTable{{
    // format, name, bytes of 256 weights, block, fallback, most
    {kPlain, "plain", 0, 1, kPlain, kPlain},
    {kFp8, "fp8_weights", 256, 1, kFp8, kFp8},
    {kInt8, "int8", 256, 1, kInt8, kInt8},
    {kInt4, "int4", 133, 128, kInt4, kInt4},
    {kQ8_0, "q8_0", 272, 32, kQ8_0, kQ8_0},
    {kQ6K, "q6_k", 210, 256, kQ8_0, kQ6K},
    {kQ5K, "q5_k", 176, 256, kQ5_1, kQ5K},
    {kQ5_1, "q5_1", 192, 32, kQ5_1, kQ5_1},
    {kQ5_0, "q5_0", 176, 32, kQ5_0, kQ5_0},
    {kQ4K, "q4_k", 144, 256, kQ5_0, kQ4K},
    {kQ4_1, "q4_1", 160, 32, kQ4_1, kQ4_1},
    {kQ4_0, "q4_0", 144, 32, kQ4_0, kQ4_0},
    {kIq4Nl, "iq4_nl", 144, 32, kIq4Nl, kIq4Nl},
    {kIq4Xs, "iq4_xs", 136, 256, kIq4Nl, kIq4Xs},
    {kQ3K, "q3_k", 110, 256, kQ4_0, kQ3K},
    {kIq3S, "iq3_s", 110, 256, kIq4Nl, kIq3S},
    {kIq3Xxs, "iq3_xxs", 98, 256, kIq4Nl, kIq3Xxs},
    {kQ2K, "q2_k", 84, 256, kQ4_0, kQ2K},
    {kIq2S, "iq2_s", 82, 256, kIq4Nl, kIq2S},
    {kIq2Xs, "iq2_xs", 74, 256, kIq4Nl, kIq2Xs},
    {kIq2Xxs, "iq2_xxs", 66, 256, kIq4Nl, kIq2Xxs},
    {kIq1M, "iq1_m", 56, 256, kIq4Nl, kIq1M},
    {kIq1S, "iq1_s", 50, 256, kIq4Nl, kIq1S},
    {kMxfp4, "mxfp4", 136, 32, kMxfp4, kMxfp4},
    {kNvfp4, "nvfp4", 144, 16, kNvfp4, kNvfp4},
    {kQ5KM, "q5_k_m", 193, 256, kQ5_1Q8_0, kQ5K},
    {kQ4KM, "q4_k_m", 177, 256, kQ5_0Q8_0, kQ4K},
    {kQ5_1Q8_0, "q5_1_q8_0", 232, 32, kQ5_1Q8_0, kQ5_1},
    {kQ5_0Q8_0, "q5_0_q8_0", 224, 32, kQ5_0Q8_0, kQ5_0},
}};
constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<std::size_t>(kTable[i].format) != i) return false;
  return static_cast<std::size_t>(kQ5_0Q8_0) + 1 == kTable.size();
}
static_assert(in_order());
}  // namespace weight_formats

constexpr const WeightFormatFacts& facts_of(WeightFormat f) {
  return weight_formats::kTable[static_cast<std::size_t>(f)];
}

inline constexpr std::array kFallbackMixes = {WeightFormat::kQ5_1Q8_0, WeightFormat::kQ5_0Q8_0};
/// All that a scenario may say.
inline constexpr auto kWeightFormats = [] {
  std::array<WeightFormat, weight_formats::kTable.size() - kFallbackMixes.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = weight_formats::kTable[i].format;
  return out;
}();

/// What a mix has of all matrices but down projections, of which it has Q6_K in half of the layers:
/// the first and last eighth and every third of the others (llama.cpp, src/llama-quant.cpp,
/// use_more_bits). Values' matrices, which are alike, are a part of packed ones here, and not
/// wider. The format itself where it is no mix.
constexpr WeightFormat most_of(WeightFormat f) { return facts_of(f).most; }
constexpr bool is_mix(WeightFormat f) { return most_of(f) != f; }

/// Bytes of 256 weights, the super-block of llama.cpp's k-quants; 0: as the computing type. Of
/// mixes: of down projections, in the mean of the layers.
constexpr std::int64_t bytes_of_256(WeightFormat f) { return facts_of(f).bytes_of_256; }

/// Weights of a row that share a block, of which a row has a whole number.
constexpr std::int64_t block_of(WeightFormat f) { return facts_of(f).block; }

/// What llama.cpp packs a matrix in whose rows are not whole blocks of 256; one whose rows are not
/// whole blocks of that either stays in 16 bits. The format itself: there is none.
constexpr WeightFormat fallback_of(WeightFormat f) { return facts_of(f).fallback; }

/// "q4_0", "int4": as scenarios write them.
constexpr std::string_view name_of(WeightFormat f) { return facts_of(f).name; }

}  // namespace plait
