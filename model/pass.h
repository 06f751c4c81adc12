#pragma once
// Which part of a training step an op belongs to.

#include <cstdint>

namespace plait {

/// Forward, the backward pass as a whole, or one half of it: gradient of the input (kInputGrad, the
/// pipeline papers' "B") and gradient of the weight (kWeightGrad, "W").
enum class Pass : std::uint8_t { kForward, kBackward, kInputGrad, kWeightGrad, kOptimizer };
constexpr bool is_forward(Pass pass) { return pass == Pass::kForward; }

}  // namespace plait
