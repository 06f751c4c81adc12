#include "kernels/cuda/gemm.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/bias_grad.h"
#include "kernels/cuda/product.h"

namespace plait::kernels::cuda {

template <class Y, class X>
void gemm_nt(const Queue& q, Y* y, const X* x, const X* w, const X* bias, std::int64_t m,
             std::int64_t n, std::int64_t k, std::int64_t batch, bool accumulate) {
  product(q, {m, n, k, batch}, 1, factor(x, false, k, m * k), factor(w, true, k, n * k),
          accumulate ? 1 : 0, result(y, n, m * n), {bias, kElementType<X>});
}

template <class Y, class X>
void gemm_nn(const Queue& q, Y* dx, const X* dy, const X* w, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate) {
  product(q, {m, n, k, batch}, 1, factor(dy, false, k, m * k), factor(w, false, n, k * n),
          accumulate ? 1 : 0, result(dx, n, m * n));
}

template <class G, class X>
void gemm_tn(const Queue& q, G* dw, G* dbias, const X* dy, const X* x, std::int64_t m,
             std::int64_t n, std::int64_t k, std::int64_t batch, bool accumulate) {
  product(q, {m, n, k, batch}, 1, factor(dy, true, m, k * m), factor(x, false, n, k * n),
          accumulate ? 1 : 0, result(dw, n, m * n));
  if (dbias != nullptr) bias_grad(q, dbias, dy, batch * k, m, accumulate);
}

template <class Y, class X, class W>
void gemm_fp8(const Queue& q, Y* y, const X* x, const W* w, const __nv_bfloat16* bias,
              const float* scale_x, const float* scale_w, std::int64_t m, std::int64_t n,
              std::int64_t k, bool accumulate) {
  Factor a = factor(x, false, k, 0), b = factor(w, true, k, 0);
  a.scale = scale_x, b.scale = scale_w;
  product(q, {m, n, k, 1}, 1, a, b, accumulate ? 1 : 0, result(y, n, 0),
          {bias, kElementType<__nv_bfloat16>});
}

#define PLAIT_INSTANTIATE(Y, X)                                                               \
  template void gemm_nt(const Queue&, Y*, const X*, const X*, const X*, std::int64_t,         \
                        std::int64_t, std::int64_t, std::int64_t, bool);                      \
  template void gemm_nn(const Queue&, Y*, const X*, const X*, std::int64_t, std::int64_t,     \
                        std::int64_t, std::int64_t, bool);                                    \
  template void gemm_tn(const Queue&, Y*, Y*, const X*, const X*, std::int64_t, std::int64_t, \
                        std::int64_t, std::int64_t, bool);
PLAIT_INSTANTIATE(float, float)
PLAIT_INSTANTIATE(float, __nv_bfloat16)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_bfloat16)
PLAIT_INSTANTIATE(float, __half)
PLAIT_INSTANTIATE(__half, __half)
#undef PLAIT_INSTANTIATE

#define PLAIT_INSTANTIATE(Y, X)                                                                  \
  template void gemm_fp8(const Queue&, Y*, const X*, const __nv_fp8_e4m3*, const __nv_bfloat16*, \
                         const float*, const float*, std::int64_t, std::int64_t, std::int64_t,   \
                         bool);
PLAIT_INSTANTIATE(float, __nv_fp8_e4m3)
PLAIT_INSTANTIATE(float, __nv_fp8_e5m2)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_fp8_e4m3)
PLAIT_INSTANTIATE(__nv_bfloat16, __nv_fp8_e5m2)
#undef PLAIT_INSTANTIATE

}  // namespace plait::kernels::cuda
