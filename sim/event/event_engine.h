#pragma once
// The event engine: ranks on processors that share cores and links, so that what one does changes
// how long others take. It does what a real run does:
//
//   * Each rank's compute thread walks its program in issue order. It runs compute when what that
//     depends on has ended; it hands collectives, messages and whatever else is not in the compute
//     stream over and goes on at once.
//   * Its communication thread serves all streams: of each the first op that was handed over starts
//     when its dependencies have ended; a collective goes through the rounds of plan/collectives,
//     whose transfers the thread works on piece by piece, for all streams in turn.
//   * Threads share the cores of their machine (cores.h), messages share the links between hosts
//     (links.h), and messages.h says what a message costs.
//
// The step ends when all threads have done everything. All ranks are simulated one by one.

#include <functional>
#include <vector>

#include "costmodel/costmodel.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "sim/event/hosts.h"

namespace plait {

/// CPU seconds of a compute op or a copy on a rank: the same for all calls of a block.
using WorkOf = std::function<Seconds(const Op& op, std::int64_t rank)>;

/// One track per rank; a communication op's span is from its start in the communication thread to
/// its end. `placement`: device of each rank, or empty for rank r on device r; host h has devices h
/// ranks_per_host and following. Throws InternalError naming the first blocked op of each rank
/// where the plan cannot make progress, and where two ends of a message mean different things.
Timeline simulate_hosts(const Plan& plan, const HostSystem& system, const WorkOf& work,
                        const std::vector<std::int64_t>& placement = {});

/// Work by the cost model on the cluster's device, longer on slow ones. Refers to both.
WorkOf work_of(const Plan& plan, const Cluster& cluster, const CostModel& costs,
               const std::vector<std::int64_t>& placement = {});

}  // namespace plait
