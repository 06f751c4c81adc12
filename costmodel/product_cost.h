#pragma once
// How long a product that a framework runs (launches.h) takes: what stands between one by itself,
// of which constants are (gemm.cpp), and one in a step.

#include "costmodel/cost.h"
#include "model/kernels.h"
#include "model/op.h"

namespace plait {

Cost product_cost(const MatMul& op, const Device& device, const Kernels& kernels);

}  // namespace plait
