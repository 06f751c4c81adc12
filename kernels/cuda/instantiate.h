#pragma once
// The element types for which launchers exist, each written once. Used inside kernels only.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// X(T): activations and weights.
#define PLAIT_FOR_ACTIVATIONS(X) X(float) X(__nv_bfloat16)
/// X(T, G): activations and the gradients of parameters.
#define PLAIT_FOR_GRADIENTS(X) \
  X(float, float) X(__nv_bfloat16, float) X(__nv_bfloat16, __nv_bfloat16)
