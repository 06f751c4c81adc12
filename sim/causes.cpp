#include "sim/causes.h"

#include <array>

namespace plait {

std::vector<OpSite> flat_ops(const Plan& plan, std::size_t stage) {
  std::vector<OpSite> out;
  out.reserve(static_cast<std::size_t>(op_count(plan, stage)));
  const std::vector<Call>& calls = plan.programs[stage].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    for (std::size_t i = 0; i < plan.blocks[calls[c].block].ops.size(); ++i) {
      out.push_back({static_cast<std::uint32_t>(c), static_cast<std::uint16_t>(i)});
    }
  }
  return out;
}

std::vector<std::uint32_t> causes(const Plan& plan, const Dependencies& deps, const Track& track,
                                  const std::vector<OpSite>& ops) {
  const auto stage = static_cast<std::size_t>(track.stage);
  const std::vector<Call>& calls = plan.programs[stage].calls;
  const ProgramDependencies& d = deps.programs[stage];
  std::vector<std::uint32_t> out(ops.size(), kNoCause);
  std::array<std::uint32_t, kStreams> last;
  last.fill(kNoCause);
  std::uint32_t wait = 0;  // the next one
  for (std::size_t flat = 0; flat < ops.size(); ++flat) {
    const OpSite at = ops[flat];
    const BlockId block = calls[at.call].block;
    const Stream stream = plan.blocks[block].ops[at.op].stream;
    std::uint32_t best = last[static_cast<std::size_t>(stream)];
    const auto consider = [&](std::uint32_t candidate) {
      if (candidate == kNoCause) return;
      if (best == kNoCause || track.end[candidate] > track.end[best]) best = candidate;
    };
    if (behind_compute(stream)) consider(last[static_cast<std::size_t>(Stream::kCompute)]);
    const BlockDependencies& b = deps.blocks[block];
    for (std::size_t k = b.first[at.op]; k < b.first[at.op + 1U]; ++k) {
      consider(static_cast<std::uint32_t>(flat - at.op + b.before[k]));
    }
    for (; wait < d.wait_first[at.call + 1] && d.waits[wait].op == at.op; ++wait) {
      consider(d.waits[wait].source);
    }
    out[flat] = best;
    last[static_cast<std::size_t>(stream)] = static_cast<std::uint32_t>(flat);
  }
  return out;
}

std::vector<Issue> issues(const Plan& plan, const Durations& durations, const Track& track,
                          const std::vector<OpSite>& ops) {
  std::vector<Issue> out;
  if (!durations.host_takes_time()) return out;
  out.reserve(ops.size());
  const std::vector<Call>& calls = plan.programs[static_cast<std::size_t>(track.stage)].calls;
  Issue now;
  std::uint32_t last = kNoCause;  // to end
  for (std::uint32_t flat = 0; flat < ops.size(); ++flat) {
    const std::size_t id = durations.op_id(calls[ops[flat].call].block, ops[flat].op);
    now.time += durations.issue(id);
    out.push_back(now);
    if (last == kNoCause || track.end[flat] > track.end[last]) last = flat;
    const HostWait wait = durations.host_wait_after(id);
    const std::uint32_t waited_for = wait == HostWait::kOp ? flat : last;
    if (wait != HostWait::kNot) now = {track.end[waited_for], waited_for};
  }
  return out;
}

}  // namespace plait
