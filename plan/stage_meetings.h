#pragma once
// Do the stages meet (part of validate)? Messages have both ends, collectives across stages all
// their members, and the stages cannot block one another. The plan's references exist.

#include "plan/fault_list.h"

namespace plait {

void check_stage_meetings(const Plan& plan, FaultList& faults);

}  // namespace plait
