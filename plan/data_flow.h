#pragma once
// Every read comes after a write in issue order, and what outlives its call is read (part of
// validate). The plan's references exist.

#include "plan/fault_list.h"

namespace plait {

void check_data_flow(const Plan& plan, FaultList& faults);

}  // namespace plait
