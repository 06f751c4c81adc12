#pragma once
// A second simulator, to check the first one against: every rank on its own, every op on its own,
// every dependency looked up in the rank's whole history. Slow and plain; it shares no code with
// sim/, and of the plan only the data structures.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/time.h"
#include "costmodel/costmodel.h"
#include "plan/plan.h"
#include "tests/sim/beside.h"
#include "topologies/cluster.h"

namespace plait {

/// How long op `op` of `block` takes on `rank`.
using OpDuration = std::function<SimTime(std::int64_t rank, BlockId block, std::size_t op)>;

struct RankSpans {
  std::vector<SimTime> start, end;  // by flat op index
};

struct ReferenceRun {
  bool blocked = false;  // some ops can never start; their spans are 0
  SimTime step_time = 0;
  std::vector<RankSpans> ranks;
};

/// Whom a member of a shift waits for: collectives are one kernel of all members on GPUs, and
/// messages on processors, where only the member before sends it something.
enum class ShiftWaits : std::uint8_t { kForAll, kForSender };

/// The host issues each rank's ops one after the other; kernels of the compute stream are slowed
/// down by the rank's collectives that were issued before them.
ReferenceRun reference_run(const Plan& plan, const OpDuration& duration, const Host& host = {},
                           const Beside& beside = {}, ShiftWaits waits = ShiftWaits::kForAll);

/// Per flat op of a rank of `stage`: the earlier flat ops of that rank that must have ended before
/// it starts.
std::vector<std::vector<std::size_t>> reference_waits(const Plan& plan, std::size_t stage);

/// Durations straight from the cost model: each rank's own groups and peers, placed on the machine
/// one by one. `placement`: device of each rank, or empty; `factor`: of each rank's kernels.
OpDuration priced_one_by_one(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                             const std::vector<std::int64_t>& placement,
                             const std::vector<double>& factor);

/// Product of the slow-downs of each rank's device. The cluster has no jitter.
std::vector<double> factors_of(const Cluster& cluster, const std::vector<std::int64_t>& placement);

}  // namespace plait
