#pragma once
// Whether a step is short enough to be counted in picoseconds, asked before it is simulated, so
// that no sum of the engines can overflow.
//
// Until the last op of a step has ended some op runs, or a host issues one. A kernel takes longer
// beside collectives, by no more than the time of these. So the step is no longer than all ops, and
// all that hosts do, one after the other:
//   step <= sum over stages, calls and ops of (issue + max over lanes of the duration)

#include <array>
#include <string>

#include "costmodel/cost.h"
#include "plan/plan.h"
#include "sim/durations.h"

namespace plait {

/// By the hardware number that they are spent on.
using SecondsByResource = std::array<Seconds, kResources>;

/// Of all ops of a step.
SecondsByResource spent_in(const Plan& plan, const Durations& durations);

/// Throws InputError (S199): `what` takes longer than is counted, and what most of it is spent on.
[[noreturn]] void refuse_length(const std::string& what, Seconds time,
                                const SecondsByResource& spent);

/// All ops of a step, and all that its hosts do, one after the other.
Seconds longest_step(const Plan& plan, const Durations& durations, std::size_t lanes);

/// Refuses a step whose ops, one after the other, take longer than is counted.
void require_countable(const Plan& plan, const Durations& durations, std::size_t lanes);

}  // namespace plait
