#include "sim/slowed.h"

#include <algorithm>

#include "sim/ops_of_blocks.h"

namespace plait {

Slowed::Slowed(const RecordedStep& step) : step_(step) {
  const Plan& plan = step.plan();
  const Durations& durations = *step.simulation().durations;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    auto& by_stream = holders_.emplace_back();
    const OpsOfBlocks holding = ops_of_blocks(plan, [&](BlockId block, std::uint16_t i) {
      return durations.holds(s, durations.op_id(block, i));
    });
    for_each_op(plan, s, holding, [&](std::uint32_t flat, std::size_t /*call*/, const Op& op) {
      by_stream[static_cast<std::size_t>(op.stream)].push_back(flat);
    });
  }
}

/// Of those that were issued before it. A stream's end in order: behind one that has ended when the
/// kernel starts, there is none.
std::uint32_t Slowed::by(std::size_t track, std::uint32_t flat) const {
  const std::size_t s = step_.stage_of(track);
  const Durations& durations = *step_.simulation().durations;
  const Track& times = step_.tracks()[track];
  const SimTime start = times.start[flat], end = times.end[flat];
  const std::size_t id = step_.op_id(s, flat);
  const bool slowed =
      durations.kernel(id) && end - start != durations.row(s, id).at(step_.lane_of(track));
  std::uint32_t out = kNoCause;
  if (!slowed) return out;
  Seconds most;
  for (const std::vector<std::uint32_t>& holders : holders_[s]) {
    for (auto at = std::ranges::lower_bound(holders, flat); at != holders.begin();) {
      const std::uint32_t holder = *--at;
      if (times.end[holder] <= start) break;
      const Seconds its = kept(track, holder, start, end);
      const bool more = its > most || (its == most && most.value > 0 && holder < out);
      if (more) most = its, out = holder;
    }
  }
  return out;
}

Seconds Slowed::kept(std::size_t track, std::uint32_t flat, SimTime start, SimTime end) const {
  const std::size_t s = step_.stage_of(track);
  const Track& times = step_.tracks()[track];
  const SimTime shared = std::min(end, times.end[flat]) - std::max(start, times.start[flat]);
  const int sms = step_.simulation().durations->held(s, step_.lane_of(track), step_.op_id(s, flat));
  return to_seconds(std::max<SimTime>(shared, 0)) * sms;
}

}  // namespace plait
