#pragma once
// A gate: out = x sigmoid(g), each number by one of its own (attention's, Qiu et al. 2025, arXiv
// 2505.06708) or each row by one (that of shared experts). x and out are (rows, width).

#include <cstdint>

namespace plait::kernels {

/// g is (rows, gates), `gates` being width or 1.
template <class T>
void gate_forward(T* out, const T* x, const T* g, std::int64_t rows, std::int64_t width,
                  std::int64_t gates);

/// dx (rows, width) and dg (rows, gates) are written.
template <class T>
void gate_backward(T* dx, T* dg, const T* dout, const T* x, const T* g, std::int64_t rows,
                   std::int64_t width, std::int64_t gates);

}  // namespace plait::kernels
