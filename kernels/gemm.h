#pragma once
// Matrix products in the three layouts of a linear layer's passes, row-major. Every kernel of this
// folder is a template over float and double, takes outputs, inputs, sizes and scalars, neither
// allocates nor starts threads, and writes every element of an output that it does not accumulate
// into.

#include <cstdint>

namespace plait::kernels {

/// y[m, n] = x[m, k] w[n, k]^T, `batch` times with matrices one after the other; plus bias[n]
/// unless it is null. `accumulate`: y += instead of y =.
template <class T>
void gemm_nt(T* y, const T* x, const T* w, const T* bias, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate);

/// dx[m, n] = dy[m, k] w[k, n].
template <class T>
void gemm_nn(T* dx, const T* dy, const T* w, std::int64_t m, std::int64_t n, std::int64_t k,
             std::int64_t batch, bool accumulate);

/// dw[m, n] = dy[k, m]^T x[k, n], and dbias[m], the column sums of dy over all of the batch, unless
/// it is null. `accumulate` holds for both.
template <class T>
void gemm_tn(T* dw, T* dbias, const T* dy, const T* x, std::int64_t m, std::int64_t n,
             std::int64_t k, std::int64_t batch, bool accumulate);

}  // namespace plait::kernels
