#include "sim/block_profile.h"

#include <algorithm>

#include "sim/holdings.h"

namespace plait {
namespace {

/// Whether it waits for ranks of other classes.
bool leaves_the_class(const Op& op, const Lanes& lanes) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) {
    const bool alone = lanes.groupings[lanes.grouping(*c)].groups == lanes.count();
    return c->axes.has(Axis::kPp) || !alone;
  }
  return is_message(op);
}

/// When what op i of the block waits for has ended.
SimTime ready_at(const LaneProfile& so_far, const BlockDependencies& d, std::size_t i, Stream s) {
  SimTime ready = so_far.clock[static_cast<std::size_t>(s)];
  if (behind_compute(s)) ready = std::max(ready, so_far.clock[kComputeClock]);
  for (std::size_t k = d.first[i]; k < d.first[i + 1]; ++k)
    ready = std::max(ready, so_far.end[d.before[k]]);
  return ready;
}

/// What all lanes have in common.
BlockProfile outline(const std::vector<Op>& ops, const BlockDependencies& d, const Lanes& lanes,
                     const Durations& durations, std::size_t first_id) {
  BlockProfile out;
  out.shiftable = !ops.empty();
  int roots = 0;
  std::array<bool, kStreams> used = {};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto s = static_cast<std::size_t>(ops[i].stream);
    const bool behind = behind_compute(ops[i].stream);
    const bool follows = used[s] || (behind && used[kComputeClock]);
    const bool root = d.first[i] == d.first[i + 1] && !follows;
    if (root) ++roots;
    const bool host_waits = durations.host_wait_after(first_id + i) != HostWait::kNot;
    const bool starts_late = !root || s == kComputeClock || behind;
    if (!starts_late || host_waits || leaves_the_class(ops[i], lanes)) out.shiftable = false;
    if (!used[s]) out.streams.push_back(static_cast<std::uint8_t>(s));
    used[s] = true;
    out.issue += durations.issue(first_id + i);
  }
  out.one_root = roots == 1;
  return out;
}

LaneProfile on_lane(const std::vector<Op>& ops, const BlockDependencies& d,
                    const Durations& durations, std::size_t stage, std::size_t first_id,
                    std::size_t lane) {
  LaneProfile out;
  std::vector<Holding> holdings;
  const int sms = durations.multiprocessors(stage, lane);
  SimTime issue = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto s = static_cast<std::size_t>(ops[i].stream);
    const SimTime ready = ready_at(out, d, i, ops[i].stream);
    out.start.push_back(ready);
    const std::size_t id = first_id + i;
    const SimTime duration = durations.row(stage, id).at(lane);
    out.end.push_back(durations.kernel(id) ? end_beside(holdings, sms, ready, duration)
                                           : ready + duration);
    issue += durations.issue(id);
    out.lead = std::max(out.lead, issue - ready);
    const int held = durations.held(stage, lane, id);
    if (held > 0) holdings.push_back({ready, out.end.back(), held});
    out.clock[s] = out.end.back();
  }
  return out;
}

}  // namespace

BlockProfile profile(const Plan& plan, const Dependencies& deps, const Lanes& lanes,
                     const Durations& durations, std::size_t stage, BlockId block) {
  const std::vector<Op>& ops = plan.blocks[block].ops;
  const BlockDependencies& d = deps.blocks[block];
  const std::size_t first_id = durations.op_id(block, 0);
  BlockProfile out = outline(ops, d, lanes, durations, first_id);
  if (!out.shiftable) return out;
  for (std::size_t l = 0; l < lanes.count(); ++l) {
    out.lanes.push_back(on_lane(ops, d, durations, stage, first_id, l));
  }
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto outlasts = [i](const LaneProfile& p) { return p.end[i] > p.clock[kComputeClock]; };
    if (durations.holds(stage, first_id + i) && std::ranges::any_of(out.lanes, outlasts)) {
      out.outlasting.push_back(static_cast<std::uint16_t>(i));
    }
  }
  return out;
}

}  // namespace plait
