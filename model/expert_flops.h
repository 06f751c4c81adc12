#pragma once
// What of an iteration's FLOPs are the routed experts': work that grows with the slots that experts
// have, where all else grows with the tokens. With a capacity slots are fewer than the tokens'
// choices, which are dropped, or more, and computed empty (Lepikhin et al. 2020, GShard, section
// 2.2; Fedus et al. 2021, Switch Transformers, section 2.2).

#include "core/quantity.h"
#include "model/model.h"

namespace plait {

/// Forward FLOPs per token whose choices all have slots, over all layers and modules with experts.
double routed_expert_flops(const Model& model);

/// Forward and backward, of so many tokens with `slots` for each of their choices.
Flops routed_expert_flops(const Model& model, double tokens, double slots);

}  // namespace plait
