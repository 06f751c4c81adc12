#pragma once
// How long a product of a plan takes with all that a framework runs for it: its parts and their
// sums (projections.h), the sum of a gradient with earlier ones (gradient_sums.h), and what stands
// between a product by itself, of which constants are (gemm.cpp), and one in a step.

#include "costmodel/cost.h"
#include "model/kernels.h"
#include "model/op.h"

namespace plait {

Cost product_cost(const MatMul& op, const Device& device, const Kernels& kernels);

}  // namespace plait
