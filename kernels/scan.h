#pragma once
// The scan of a state-space mixer (Dao and Gu 2024, arXiv 2405.21060, sections 2 and 6), head by
// head, of x[head_dim], B[state] and C[state] of the head's group and a step dt' = softplus(dt +
// dt_bias), with A = -exp(a_log):
//
//   h[t] = exp(dt' A) h[t - 1] + dt' x[t] B[t]^T    (head_dim, state), h[-1] = 0
//   y[t] = h[t] C[t] + d x[t]
//
// Activations are (tokens, samples, width). x, B and C are rows [x | B | C]; steps are the last
// columns of other rows.

#include <cstdint>

namespace plait::kernels {

struct ScanShape {
  std::int64_t tokens = 0, samples = 0, heads = 0, head_dim = 0, groups = 0, state = 0;
  std::int64_t chunk = 0;         // tokens from one state that is written to the next
  std::int64_t packed_width = 0;  // of the rows that end with the steps

  std::int64_t width() const { return heads * head_dim; }
  std::int64_t row_width() const { return width() + 2 * groups * state; }
  std::int64_t state_elements() const { return head_dim * state; }
};

/// a_log, d and dt_bias, of each head.
template <class T>
struct ScanWeights {
  const T *a_log, *d, *dt_bias;
};
template <class T>
struct ScanGradients {
  T *a_log, *d, *dt_bias;
};

/// y (tokens, samples, heads head_dim); states (chunks, samples, heads, head_dim state), each as it
/// is before its chunk.
template <class T>
void scan_forward(T* y, T* states, const T* rows, const T* packed, const ScanWeights<T>& weights,
                  const ScanShape& shape);

/// drows is written, and of dpacked the steps; `states` are made again. Gradients of the weights
/// are written or, with `accumulate`, added to.
template <class T>
void scan_backward(T* drows, T* dpacked, const ScanGradients<T>& gradients, T* states, const T* dy,
                   const T* rows, const T* packed, const ScanWeights<T>& weights,
                   const ScanShape& shape, bool accumulate);

}  // namespace plait::kernels
