#pragma once
// Products in 8 bits with a scale for each block of elements along k, 128 on Hopper (Transformer
// Engine's Float8BlockScaling, DeepSeek's recipe) and 32 on Blackwell (MXFP8): kernels.amax
// "blocks".

#include "costmodel/efficiency.h"
#include "model/op.h"
#include "topologies/cluster.h"

namespace plait {

/// How much longer a product takes than one with one scale for each operand and no partial sums
/// outside of the tensor cores.
double block_scaled_product(const MatMul& op, const Device& device);

/// How much longer a cast takes that finds each block's scale than one by a known scale.
double block_scaled_cast(const Device& device);

}  // namespace plait
