#pragma once
// What has to be kept of a training so that it can go on: what the optimizer writes.

#include "plan/plan.h"

namespace plait {

/// Of all ranks, each element once: trained weights as the optimizer keeps them, and its state.
/// With Adam, bf16 weights and fp32 main weights 2 + 4 + 4 + 4 bytes a parameter; with zero_stage
/// 3, whose shards are the main weights, 4 + 4 + 4. Weights that are frozen, narrower copies and
/// gradients can be made again.
Bytes checkpoint_bytes(const Plan& plan);

}  // namespace plait
