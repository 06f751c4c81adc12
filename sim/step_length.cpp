#include "sim/step_length.h"

#include <algorithm>

#include "core/time.h"

namespace plait {
namespace {

/// A message takes its time once, where it is sent.
bool takes_time(const Op& op) { return !std::holds_alternative<Recv>(op.body); }

/// What a call of the block adds at most, in picoseconds.
double longest(const Plan& plan, const Durations& durations, std::size_t lanes, std::size_t stage,
               BlockId block) {
  double sum = 0;
  const std::vector<Op>& ops = plan.blocks[block].ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!takes_time(ops[i])) continue;
    const std::size_t id = durations.op_id(block, i);
    const DurationRow row = durations.row(stage, id);
    const SimTime time =
        row.per_lane ? *std::max_element(row.value, row.value + lanes) : *row.value;
    sum += static_cast<double>(time) + static_cast<double>(durations.issue(id));
  }
  return sum;
}

}  // namespace

SecondsByResource spent_in(const Plan& plan, const Durations& durations) {
  SecondsByResource out = {};
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    for (const Call& call : plan.programs[s].calls) {
      const std::vector<Op>& ops = plan.blocks[call.block].ops;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        if (!takes_time(ops[i])) continue;
        const std::size_t id = durations.op_id(call.block, i);
        const Cost& cost = durations.cost(s, 0, id);
        for (std::size_t r = 0; r < out.size(); ++r) out[r] += cost.share[r];
        out[kHostIssue] += to_seconds(durations.issue(id));
      }
    }
  }
  return out;
}

void refuse_length(const std::string& what, Seconds time, const SecondsByResource& spent) {
  Seconds total;
  for (const Seconds s : spent) total += s;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(spent) - spent.begin());
  const double share = 100 * spent[most].value / total.value;
  const std::string name(resource_name(static_cast<Resource>(most)));
  refuse_time(what, time,
              std::to_string(static_cast<int>(share)) + " % of it is spent on " + name +
                  ": improve that, or make the model, its sequences or the batch smaller");
}

Seconds longest_step(const Plan& plan, const Durations& durations, std::size_t lanes) {
  double sum = 0;  // picoseconds
  std::vector<double> of_block;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) {
    of_block.assign(plan.blocks.size(), -1);
    for (const Call& call : plan.programs[s].calls) {
      double& its = of_block[call.block];
      if (its < 0) its = longest(plan, durations, lanes, s, call.block);
      sum += its;
    }
  }
  return Seconds(sum * 1e-12);
}

void require_countable(const Plan& plan, const Durations& durations, std::size_t lanes) {
  const Seconds longest = longest_step(plan, durations, lanes);
  if (longest > to_seconds(kLongestTime))
    refuse_length("one step, op by op,", longest, spent_in(plan, durations));
}

}  // namespace plait
