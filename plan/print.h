#pragma once
// A plan as text, for people and for golden tests: tensors, blocks with their ops, and each stage's
// calls.

#include <cstdint>
#include <ostream>

#include "plan/plan.h"

namespace plait {

struct PrintOptions {
  std::int64_t stage = -1;  // -1: all stages
  bool ops = false;         // the flat op list of the stage instead of its calls
};

void print(std::ostream& out, const Plan& plan, const PrintOptions& options = {});

}  // namespace plait
