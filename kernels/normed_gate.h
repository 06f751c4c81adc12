#pragma once
// RMSNorm of rows whose parts, heads, are normalised each by itself with one gamma for all, and a
// gate behind it: out = y rstd gamma silu(z) (Yang et al. 2024, Gated Delta Networks, arXiv
// 2412.06464, section 3.4; flash-linear-attention's FusedRMSNormGated). The gate z is the first
// columns of longer rows. Behind a state-space mixer the gate comes first: gated_norm.h.

#include "kernels/gated_norm.h"

namespace plait::kernels {

/// gamma has width / groups numbers; stats[rows, groups] gets rstd = 1 / sqrt(mean(y^2) + epsilon).
template <class T>
void normed_gate_forward(T* out, T* stats, const T* y, const T* packed, const T* gamma,
                         const GatedNormShape& shape, double epsilon);

/// dy is written, of dpacked the gate; dgamma is written or, with `accumulate`, added to.
template <class T>
void normed_gate_backward(T* dy, T* dpacked, T* dgamma, const T* dout, const T* y, const T* packed,
                          const T* stats, const T* gamma, const GatedNormShape& shape,
                          bool accumulate);

}  // namespace plait::kernels
