#pragma once
// The one matrix product under gemm.h and the unfused attention: row-major, strided, batched, by
// cuBLASLt (product.cpp). For results whose rows are parts of wider ones.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

enum class ElementType : std::uint8_t { kFloat, kBf16, kFp16, kE4m3, kE5m2 };
template <class T>
inline constexpr ElementType kElementType = ElementType::kFloat;
template <>
inline constexpr ElementType kElementType<__nv_bfloat16> = ElementType::kBf16;
template <>
inline constexpr ElementType kElementType<__half> = ElementType::kFp16;
template <>
inline constexpr ElementType kElementType<__nv_fp8_e4m3> = ElementType::kE4m3;
template <>
inline constexpr ElementType kElementType<__nv_fp8_e5m2> = ElementType::kE5m2;

/// Matrices as stored: rows are `stride` elements apart, matrices of a batch `batch_stride`.
struct Factor {
  const void* data = nullptr;
  ElementType type = ElementType::kFloat;
  bool transposed = false;
  std::int64_t stride = 0, batch_stride = 0;
  const float* scale = nullptr;  // fp8: what elements are multiplied with, on the device
};
template <class T>
Factor factor(const T* data, bool transposed, std::int64_t stride, std::int64_t batch_stride) {
  return {data, kElementType<T>, transposed, stride, batch_stride, nullptr};
}
struct Result {
  void* data = nullptr;
  ElementType type = ElementType::kFloat;
  std::int64_t stride = 0, batch_stride = 0;
};
template <class T>
Result result(T* data, std::int64_t stride, std::int64_t batch_stride) {
  return {data, kElementType<T>, stride, batch_stride};
}
/// bias[n], added to every row; null for none.
struct Bias {
  const void* data = nullptr;
  ElementType type = ElementType::kFloat;
};

/// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c + bias, `batch` times. With beta = 0 c is not
/// read.
struct ProductSize {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};
void product(const Queue& q, const ProductSize& size, float alpha, const Factor& a, const Factor& b,
             float beta, const Result& c, const Bias& bias = {});

}  // namespace plait::kernels::cuda
