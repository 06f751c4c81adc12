#pragma once
// Matrix products on the device, row-major: kernels/gemm.h by cuBLASLt. Sums are float's.
// Algorithms are chosen by cuBLASLt's heuristics, once per shape, and kept in Products.
//
// (Y, X), the types of the result and of the operands: (float, float), (bf16, bf16), (float, bf16),
// (fp16, fp16), (float, fp16), and in nt alone (bf16, e4m3), (bf16, e5m2 and e4m3), (float, ...).

#include <cuda_fp8.h>

#include <memory>

#include "kernels/cuda/queue.h"

namespace plait::kernels::cuda {

/// How products of float are computed: in float, or on tensor cores with operands rounded to tf32.
enum class FloatProducts : std::uint8_t { kExact, kTf32 };

/// cuBLASLt's handle and the algorithms it chose. One per thread and device.
class Products {
 public:
  explicit Products(FloatProducts float_products = FloatProducts::kExact);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// y[m, n] = x[m, k] w[n, k]^T, `batch` times with matrices one after the other; plus bias[n]
/// unless it is null. `accumulate`: y += instead of y =.
template <class Y, class X>
void gemm_nt(const Queue& q, Y* y, const X* x, const X* w, const X* bias, std::int64_t m,
             std::int64_t n, std::int64_t k, std::int64_t batch, bool accumulate);

/// dx[m, n] = dy[m, k] w[k, n].
template <class Y, class X>
void gemm_nn(const Queue& q, Y* dx, const X* dy, const X* w, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate);

/// dw[m, n] = dy[k, m]^T x[k, n], and dbias[m], the column sums of dy over all of the batch, unless
/// it is null. `accumulate` holds for both.
template <class G, class X>
void gemm_tn(const Queue& q, G* dw, G* dbias, const X* dy, const X* x, std::int64_t m,
             std::int64_t n, std::int64_t k, std::int64_t batch, bool accumulate);

/// y[m, n] = (scale_x x)[m, k] (scale_w w)[n, k]^T (+ bias[n]) of fp8 operands with their inverse
/// scales (cast_fp8) in device memory, null for 1. m, n and k are multiples of 16. Where the device
/// has no fp8 (before sm_89): EnvironmentError. The other two layouts are this one with transposed
/// copies: dx = dy (w^T)^T, dw = (dy^T) (x^T)^T. For Y = float or bf16, (X, W) = (e4m3, e4m3) and
/// (e5m2, e4m3).
template <class Y, class X, class W>
void gemm_fp8(const Queue& q, Y* y, const X* x, const W* w, const __nv_bfloat16* bias,
              const float* scale_x, const float* scale_w, std::int64_t m, std::int64_t n,
              std::int64_t k, bool accumulate);

}  // namespace plait::kernels::cuda
