#pragma once
// Element types of tensors, by the names that PyTorch and the papers use.

#include <cstdint>
#include <string_view>

namespace plait {

/// kNvfp4: e2m1, with an e4m3 scale for each block of 16 elements that lie along the products' k
/// (Abecassis et al. 2025, Pretraining Large Language Models with NVFP4, arXiv 2509.25149, section
/// 2), and an fp32 scale for the tensor, which is not counted. kNf4: codes of 4 bits for 16 numbers
/// from -1 to 1 (Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3), in which weights are
/// stored; what each block of them is multiplied by stands in tensors of its own.
enum class DType : std::uint8_t {
  kFp64,
  kFp32,
  kBf16,
  kFp16,
  kFp8,
  kInt64,
  kInt32,
  kInt8,
  kNvfp4,
  kNf4
};
inline constexpr std::int64_t kNvfp4Block = 16;  // elements with a scale in common
inline constexpr std::int64_t kNf4Block = 64;    // the same, section 5 of QLoRA
inline constexpr std::int64_t kNf4Scales = 256;  // such scales that have one in common

/// Bytes of one element; of kNvfp4 and kNf4, whose elements share bytes, rounded up.
constexpr std::int64_t size_of(DType t) {
  switch (t) {
    case DType::kFp64:
    case DType::kInt64: return 8;
    case DType::kFp32:
    case DType::kInt32: return 4;
    case DType::kBf16:
    case DType::kFp16: return 2;
    case DType::kFp8:
    case DType::kInt8:
    case DType::kNvfp4:
    case DType::kNf4: return 1;
  }
  return 0;
}

/// Of so many elements, with their blocks' scales.
constexpr std::int64_t bytes_of(DType t, std::int64_t elements) {
  if (t == DType::kNf4) return (elements + 1) / 2;
  if (t != DType::kNvfp4) return elements * size_of(t);
  constexpr std::int64_t kBlockBytes = kNvfp4Block / 2 + 1;
  return (elements * kBlockBytes + kNvfp4Block - 1) / kNvfp4Block;
}

constexpr std::string_view name_of(DType t) {
  switch (t) {
    case DType::kFp64: return "fp64";
    case DType::kFp32: return "fp32";
    case DType::kBf16: return "bf16";
    case DType::kFp16: return "fp16";
    case DType::kFp8: return "fp8";
    case DType::kInt64: return "int64";
    case DType::kInt32: return "int32";
    case DType::kInt8: return "int8";
    case DType::kNvfp4: return "nvfp4";
    case DType::kNf4: return "nf4";
  }
  return "?";
}

}  // namespace plait
