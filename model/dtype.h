#pragma once
// Element types of tensors, by the names that PyTorch and the papers use.

#include <cstdint>
#include <string_view>

namespace plait {

enum class DType : std::uint8_t { kFp64, kFp32, kBf16, kFp16, kFp8, kInt64, kInt32, kInt8 };

/// Bytes of one element.
constexpr std::int64_t size_of(DType t) {
  switch (t) {
    case DType::kFp64:
    case DType::kInt64: return 8;
    case DType::kFp32:
    case DType::kInt32: return 4;
    case DType::kBf16:
    case DType::kFp16: return 2;
    case DType::kFp8:
    case DType::kInt8: return 1;
  }
  return 0;
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
  }
  return "?";
}

}  // namespace plait
