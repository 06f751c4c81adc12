#pragma once
// Whether ops fit what they read and write: a kernel goes by its own sizes, so one that is larger
// than a tensor reads or writes beyond it.

#include "plan/fault_list.h"

namespace plait {

/// Adds a kSize fault for each op that works on more elements of an operand than a rank has of it,
/// or that lacks the operand. Sizes and the order of operands are those of plan/op.h.
/// A transfer between stages is not looked at here: its two ends are compared with each other
/// (stage_meetings.h).
void check_op_sizes(const Plan& plan, FaultList& faults);

}  // namespace plait
