#pragma once
// Products with weights in llama.cpp's formats, as its own kernels run them (ggml-cuda/mmvq.cu and
// mmq.cu, which vLLM has taken over for files of such weights, csrc/quantization/gguf). Of up to
// eight rows they are dot products outside of the matrix units, whose tiles a few rows would leave
// empty:
//
//   t = t0 + max(C, B / (b BW)),  C = m n k / (r f SMs)
//
// f are the clocks a second of a multiprocessor and r its multiplications a clock. Of more rows
// they are multiplied as bytes, in tiles of 128 of the weights' rows by w of the input's. Each
// multiprocessor takes as many elements of k in turn as the others (stream-K):
//
//   t = (C^3 + (B / (b BW))^3)^(1/3),  C = 128 w (k T / SMs + k0) / (r f)
//   T = ceil(m / 128) ceil(n / 128),  w <= 128, as narrow as so many tiles may be
//
// r is by far not what the matrix units are able to: most clocks unpack weights and apply scales.
// Volta, whose matrix units take 16 bits alone, multiplies weights that are widened before, of 64
// rows and more. CDNA and processors have only the few rows of this, and others' products beyond.

#include "costmodel/cost.h"
#include "model/op.h"

namespace plait {

/// Whether this product runs so: by its format, rows and device.
bool runs_as_in_llama_cpp(const MatMul& op, const Device& device);
/// Where it does. `slowdown` is as for gemm_cost, of products that are cuBLAS's; constants of the
/// others are of products in steps.
Cost llama_cpp_product_cost(const MatMul& op, const Device& device, double slowdown = 1);

}  // namespace plait
