#pragma once
// OpenBLAS under one name for float and double, row-major. Used inside kernels only.

#include <cstdint>
#include <limits>

#include "core/error.h"
#include "kernels/blas_library.h"

namespace plait::kernels {

inline blasint blas_size(std::int64_t n) {
  PLAIT_CHECK(n >= 0 && n <= std::numeric_limits<blasint>::max(), "a size that BLAS cannot hold");
  return static_cast<blasint>(n);
}

/// A matrix as stored: rows are `stride` elements apart.
template <class T>
struct Matrix {
  T* data;
  std::int64_t stride;
};

enum class Transposed : bool { kNo, kYes };

/// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c. With beta = 0 c is not read.
template <class T>
void blas_gemm(Transposed ta, Transposed tb, std::int64_t m, std::int64_t n, std::int64_t k,
               T alpha, Matrix<const T> a, Matrix<const T> b, T beta, Matrix<T> c) {
  const auto flag = [](Transposed t) { return t == Transposed::kYes ? CblasTrans : CblasNoTrans; };
  const blasint lda = blas_size(a.stride), ldb = blas_size(b.stride), ldc = blas_size(c.stride);
  if constexpr (sizeof(T) == sizeof(float)) {
    blas_library().sgemm(CblasRowMajor, flag(ta), flag(tb), blas_size(m), blas_size(n),
                         blas_size(k), alpha, a.data, lda, b.data, ldb, beta, c.data, ldc);
  } else {
    blas_library().dgemm(CblasRowMajor, flag(ta), flag(tb), blas_size(m), blas_size(n),
                         blas_size(k), alpha, a.data, lda, b.data, ldb, beta, c.data, ldc);
  }
}

}  // namespace plait::kernels
