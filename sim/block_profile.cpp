#include "sim/block_profile.h"

#include <algorithm>

namespace plait {
namespace {

bool leaves_the_class(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return c->axes.has(Axis::kPp);
  return std::holds_alternative<Send>(op.body) || std::holds_alternative<Recv>(op.body);
}

/// When what op i of the block waits for has ended.
SimTime ready_at(const BlockProfile& so_far, const BlockDependencies& d, std::size_t i, Stream s) {
  SimTime ready = so_far.clock[static_cast<std::size_t>(s)];
  if (behind_compute(s)) ready = std::max(ready, so_far.clock[kComputeClock]);
  for (std::size_t k = d.first[i]; k < d.first[i + 1]; ++k)
    ready = std::max(ready, so_far.end[d.before[k]]);
  return ready;
}

}  // namespace

BlockProfile profile(const Plan& plan, const Dependencies& deps, const Durations& durations,
                     std::size_t stage, BlockId block) {
  BlockProfile out;
  const std::vector<Op>& ops = plan.blocks[block].ops;
  const BlockDependencies& d = deps.blocks[block];
  out.shiftable = !ops.empty();
  const int sms = durations.multiprocessors(stage, 0);
  int roots = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto s = static_cast<std::size_t>(ops[i].stream);
    const bool behind = behind_compute(ops[i].stream);
    const bool follows_stream = (out.streams >> s & 1U) != 0;
    const bool follows_compute = behind && (out.streams >> kComputeClock & 1U) != 0;
    const bool root = d.first[i] == d.first[i + 1] && !follows_stream && !follows_compute;
    if (root) {
      ++roots;
      out.shiftable = out.shiftable && (s == kComputeClock || behind);
    }
    const SimTime ready = ready_at(out, d, i, ops[i].stream);
    out.start.push_back(ready);
    const std::size_t id = durations.op_id(block, i);
    const SimTime duration = *durations.row(stage, id).value;
    out.end.push_back(durations.kernel(id) ? end_beside(out.holdings, sms, ready, duration)
                                           : ready + duration);
    out.issue += durations.issue(id);
    out.lead = std::max(out.lead, out.issue - ready);
    const int held = durations.held(stage, 0, id);
    if (held > 0) out.holdings.push_back({ready, out.end.back(), held, s});
    out.clock[s] = out.end.back();
    out.streams = static_cast<std::uint16_t>(out.streams | 1U << s);
    const bool host_waits = durations.host_wait_after(id) != HostWait::kNot;
    if (host_waits || leaves_the_class(ops[i])) out.shiftable = false;
  }
  out.one_root = roots == 1;
  forget_ended(out.holdings, out.clock[kComputeClock]);
  return out;
}

}  // namespace plait
