#pragma once
// RMSNorm of gated rows, g = y silu(z), each of `groups` parts of a row by itself (Dao and Gu 2024,
// arXiv 2405.21060, section 7.1; mamba_ssm's RMSNormGated with norm_before_gate = False). The gate
// z is the first columns of longer rows.

#include <cstdint>

namespace plait::kernels {

struct GatedNormShape {
  std::int64_t rows = 0, width = 0, groups = 1;
  std::int64_t packed_width = 0;  // of the rows that begin with the gate
};

/// out = g rstd gamma; stats[rows, groups] gets rstd = 1 / sqrt(mean(g^2) + epsilon).
template <class T>
void gated_norm_forward(T* out, T* stats, const T* y, const T* packed, const T* gamma,
                        const GatedNormShape& shape, double epsilon);

/// dy and out are written, of dpacked the gate; dgamma is written or, with `accumulate`, added to.
template <class T>
void gated_norm_backward(T* dy, T* dpacked, T* dgamma, T* out, const T* dout, const T* y,
                         const T* packed, const T* stats, const T* gamma,
                         const GatedNormShape& shape, bool accumulate);

}  // namespace plait::kernels
