#pragma once
// How many kernels the loss is (Kernels::cross_entropy): a chain of them, one for each step, or one
// for the forward and the backward pass, over a vocabulary that a rank has all of.

#include "model/kernels.h"
#include "model/op.h"

namespace plait {

/// A chain, which widens 16-bit logits by itself.
constexpr bool is_in_parts(Fusion loss) {
  return loss == Fusion::kEager || loss == Fusion::kParallel;
}
/// A step of the loss that the kernel of its gradients does on the way.
bool is_done_elsewhere(const Compute& op, const Kernels& kernels);

}  // namespace plait
