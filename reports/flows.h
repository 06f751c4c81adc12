#pragma once
// Which send met which recv, for the arrows of a trace.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "plan/timeline.h"

namespace plait {

struct FlowArrow {
  std::int64_t from_rank = 0, to_rank = 0;
  Stream from_stream = Stream::kCompute, to_stream = Stream::kCompute;
  SimTime sent = 0;      // start of the send
  SimTime received = 0;  // inside the recv, not before the send
};

/// One flow for every recv on `tracks` whose sender is among them, exactly or by a rank of the
/// same stage that stands for it.
std::vector<FlowArrow> flows_of(const Plan& plan, const std::vector<const Track*>& tracks);

}  // namespace plait
