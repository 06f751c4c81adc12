#pragma once
// The chain of ops that ends last, each of which started when the one before had ended.

#include <vector>

#include "sim/binding_members.h"
#include "sim/further_periods.h"
#include "sim/recorded_step.h"

namespace plait {

struct CriticalPath {
  std::vector<Share> shares;             // sum to the step time
  std::vector<Sensitivity> sensitivity;  // the most first
};

CriticalPath critical_path(const RecordedStep& step, const BindingMembers& members,
                           const FurtherPeriods& further);

}  // namespace plait
