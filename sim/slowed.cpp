#include "sim/slowed.h"

#include <algorithm>

namespace plait {

namespace {

/// By block: the ops that keep any in this stage.
std::vector<std::vector<std::uint16_t>> holding_ops(const RecordedStep& step, std::size_t stage) {
  const Durations& durations = *step.simulation().durations;
  std::vector<std::vector<std::uint16_t>> out;
  for (std::size_t b = 0; b < step.plan().blocks.size(); ++b) {
    std::vector<std::uint16_t>& ops = out.emplace_back();
    for (std::uint16_t i = 0; i < step.plan().blocks[b].ops.size(); ++i) {
      const std::size_t id = durations.op_id(static_cast<BlockId>(b), i);
      if (durations.holds(stage, id)) ops.push_back(i);
    }
  }
  return out;
}

}  // namespace

Slowed::Slowed(const RecordedStep& step) : step_(step) {
  const Plan& plan = step.plan();
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    auto& by_stream = holders_.emplace_back();
    const std::vector<std::vector<std::uint16_t>> holding = holding_ops(step, s);
    std::uint32_t first = 0;  // of the call
    for (const Call& call : plan.programs[s].calls) {
      const std::vector<Op>& ops = plan.blocks[call.block].ops;
      for (const std::uint16_t i : holding[call.block]) {
        by_stream[static_cast<std::size_t>(ops[i].stream)].push_back(first + i);
      }
      first += static_cast<std::uint32_t>(ops.size());
    }
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
