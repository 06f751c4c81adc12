#pragma once
// How far the numbers of two plans may be apart that compute the same, by what rounding makes of
// them. docs/models/realrun.md derives it.

#include <cstdint>
#include <string_view>

#include "model/model.h"
#include "plan/plan.h"

namespace plait {

/// fp64: nothing is rounded. fp32 and bf16: floats, and tensors that are bf16 in the plan hold bf16
/// numbers (realrun/rounding.h).
enum class RunPrecision : std::uint8_t { kFp64, kFp32, kBf16 };
std::string_view name_of(RunPrecision precision);
/// Of "fp64", "fp32" or "bf16".
RunPrecision run_precision(std::string_view name);

struct Tolerance {
  double whole = 0;   // relative L2 error of all gradients, and of all moments
  double error = 0;   // the same of one tensor, in which gradients may all but cancel
  double along = 1;   // of that what is along the tensor: too much or too little of it
  double cosine = 0;  // between the two of a tensor, at least
  double loss = 0;    // relative error of a step's loss
  /// Relative L2 error of weights after the steps; 0: not compared, since Adam normalises
  /// gradients and makes a whole step of one that is nothing but rounding errors.
  double weights = 0;
  /// Roundings may make more than what is allowed, beyond which wrong gradients would pass.
  bool vague = false;
};
/// Of the last of `steps` optimizer steps, of a few layers; a loss of one token.
Tolerance tolerance_of(RunPrecision precision, int steps = 1);
/// The same of a plan: with what its quantised exchanges and, in bf16, its layers, steps and jumps
/// (a choice of experts, ReLU) may add, and the loss of its tokens.
Tolerance tolerance_of(RunPrecision precision, const Model& model, const Plan& plan, int steps);

}  // namespace plait
