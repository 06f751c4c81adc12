#include "sim/block_profile.h"

#include <algorithm>

namespace plait {
namespace {

bool leaves_the_class(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return c->axes.has(Axis::kPp);
  return std::holds_alternative<Send>(op.body) || std::holds_alternative<Recv>(op.body);
}

}  // namespace

BlockProfile profile(const Plan& plan, const Dependencies& deps, const Durations& durations,
                     std::size_t stage, BlockId block) {
  BlockProfile out;
  const std::vector<Op>& ops = plan.blocks[block].ops;
  const BlockDependencies& d = deps.blocks[block];
  constexpr auto kCompute = static_cast<std::size_t>(Stream::kCompute);
  out.shiftable = !ops.empty();
  int roots = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto s = static_cast<std::size_t>(ops[i].stream);
    const bool behind = behind_compute(ops[i].stream);
    const bool follows_stream = (out.streams >> s & 1U) != 0;
    const bool follows_compute = behind && (out.streams >> kCompute & 1U) != 0;
    const bool root = d.first[i] == d.first[i + 1] && !follows_stream && !follows_compute;
    if (root) {
      ++roots;
      out.shiftable = out.shiftable && (s == kCompute || behind);
    }
    SimTime ready = out.clock[s];
    if (behind) ready = std::max(ready, out.clock[kCompute]);
    for (std::size_t k = d.first[i]; k < d.first[i + 1]; ++k)
      ready = std::max(ready, out.end[d.before[k]]);
    out.start.push_back(ready);
    out.issue += durations.issue(durations.op_id(block, i));
    out.lead = std::max(out.lead, out.issue - ready);
    out.end.push_back(ready + *durations.row(stage, durations.op_id(block, i)).value);
    out.clock[s] = out.end.back();
    out.streams = static_cast<std::uint16_t>(out.streams | 1U << s);
    const bool host_waits = durations.host_wait_after(durations.op_id(block, i)) != HostWait::kNot;
    if (host_waits || leaves_the_class(ops[i])) out.shiftable = false;
  }
  out.one_root = roots == 1;
  return out;
}

}  // namespace plait
