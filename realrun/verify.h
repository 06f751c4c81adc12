#pragma once
// Does the plan train? Runs it and the unsharded plan of the same model and batch on real numbers,
// and compares the loss and all gradients, gathered by global element index. A plan that misses a
// collective, groups it wrongly or mixes up microbatches computes another gradient.

#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"

namespace plait {

enum class RunPrecision : std::uint8_t { kFp32, kFp64 };

struct Verification {
  double loss = 0, reference_loss = 0;
  double worst_error = 0;         // largest relative L2 error of a gradient tensor
  std::string worst_tensor;       // "layer.qkv.weight of layer 1"
  bool replicas_agree = true;     // ranks that hold the same elements hold the same numbers
  bool memory_as_planned = true;  // every rank held exactly plan/memory.h's peak
  std::int64_t ranks = 0;
};

/// Both plans start from the same numbers; each rank is a thread. `model` has the plans' shapes.
Verification verify(const Model& model, const Plan& plan, const Plan& unsharded,
                    RunPrecision precision);

}  // namespace plait
