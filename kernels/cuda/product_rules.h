#pragma once
// What cuBLASLt's documentation asks of a product (cuBLAS guide, cublasLtMatmul; cublasLt.h), for
// cuBLASLt itself and for what stands in for it in tests.

#include "kernels/cuda/product.h"

namespace plait::kernels::cuda {

/// Of fp8: sizes and addresses are multiples of 16, rows lie along k in both factors, and one of
/// them is e4m3. A bias has the result's type; of fp8 products it is bf16.
void require_documented(const ProductSize& size, const Factor& a, const Factor& b, const Result& c,
                        const Bias& bias);

}  // namespace plait::kernels::cuda
