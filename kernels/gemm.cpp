#include "kernels/gemm.h"

#include "kernels/bias_grad.h"
#include "kernels/blas.h"

namespace plait::kernels {
namespace {

template <class T>
void add_to_rows(T* y, const T* bias, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) {
    T* row = y + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) row[i] += bias[i];
  }
}

}  // namespace

template <class T>
void gemm_nt(T* y, const T* x, const T* w, const T* bias, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate) {
  for (std::int64_t i = 0; i < batch; ++i) {
    blas_gemm<T>(Transposed::kNo, Transposed::kYes, m, n, k, T(1), {x + i * m * k, k},
                 {w + i * n * k, k}, accumulate ? T(1) : T(0), {y + i * m * n, n});
  }
  if (bias != nullptr) add_to_rows(y, bias, batch * m, n);
}

template <class T>
void gemm_nn(T* dx, const T* dy, const T* w, std::int64_t m, std::int64_t n, std::int64_t k,
             std::int64_t batch, bool accumulate) {
  for (std::int64_t i = 0; i < batch; ++i) {
    blas_gemm<T>(Transposed::kNo, Transposed::kNo, m, n, k, T(1), {dy + i * m * k, k},
                 {w + i * k * n, n}, accumulate ? T(1) : T(0), {dx + i * m * n, n});
  }
}

template <class T>
void gemm_tn(T* dw, T* dbias, const T* dy, const T* x, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate) {
  for (std::int64_t i = 0; i < batch; ++i) {
    blas_gemm<T>(Transposed::kYes, Transposed::kNo, m, n, k, T(1), {dy + i * k * m, m},
                 {x + i * k * n, n}, accumulate ? T(1) : T(0), {dw + i * m * n, n});
  }
  if (dbias != nullptr) bias_grad(dbias, dy, batch * k, m, accumulate);
}

#define PLAIT_INSTANTIATE(T)                                                                  \
  template void gemm_nt(T*, const T*, const T*, const T*, std::int64_t, std::int64_t,         \
                        std::int64_t, std::int64_t, bool);                                    \
  template void gemm_nn(T*, const T*, const T*, std::int64_t, std::int64_t, std::int64_t,     \
                        std::int64_t, bool);                                                  \
  template void gemm_tn(T*, T*, const T*, const T*, std::int64_t, std::int64_t, std::int64_t, \
                        std::int64_t, bool);
PLAIT_INSTANTIATE(float)
PLAIT_INSTANTIATE(double)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels
