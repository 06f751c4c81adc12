#include "serving/step_costs.h"

#include <algorithm>
#include <bit>

#include "plan/walk.h"
#include "sim/simulate.h"

namespace plait {
namespace {

std::size_t part_of(Resource r) {
  switch (r) {
    case kMemoryBandwidth: return static_cast<std::size_t>(StepPart::kMemory);
    case kPeakFlops: return static_cast<std::size_t>(StepPart::kCompute);
    case kLaunchOverhead: return static_cast<std::size_t>(StepPart::kLaunch);
    case kHostFlops:
    case kHostMemory: return static_cast<std::size_t>(StepPart::kProcessor);
    default: return static_cast<std::size_t>(StepPart::kCommunication);
  }
}

void add_parts(const Cost& cost, std::int64_t times, StepTime& out) {
  for (std::size_t r = 0; r < kResources; ++r) {
    if (cost.share[r].value <= 0) continue;
    SimTime& part = out.parts[part_of(static_cast<Resource>(r))];
    part = counted_sum(part, counted_product(times, to_sim_time(cost.share[r])));
  }
}

/// What the ops of a stage are bound by. An op costs the same in every call of its block.
void add_parts_of_stage(const Plan& plan, const Simulation& run, std::size_t stage, StepTime& out) {
  const std::vector<std::int64_t> runs = runs_of_blocks(plan, stage);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const std::vector<Op>& ops = plan.blocks[b].ops;
    for (std::size_t i = 0; i < ops.size() && runs[b] > 0; ++i) {
      if (std::holds_alternative<Recv>(ops[i].body)) continue;
      const std::size_t op = run.durations->op_id(static_cast<BlockId>(b), i);
      add_parts(run.durations->cost(stage, 0, op), runs[b], out);
    }
  }
}

/// A stage works from its input's arrival until it has something to send.
void measure_stage(const Plan& plan, const Simulation& run, std::size_t stage, StepTime& out) {
  const std::size_t lanes = run.timeline.tracks.size() / plan.programs.size();
  const Track& track = run.timeline.tracks[stage * lanes];
  SimTime from = 0, until = 0;
  for_each_op(plan, stage, [&](std::int64_t flat, const Call&, const Op& op) {
    const auto at = static_cast<std::size_t>(flat);
    const bool sends = std::holds_alternative<Send>(op.body);
    const bool receives = std::holds_alternative<Recv>(op.body);
    if (receives) from = until = track.end[at];
    if (sends) out.hop.push_back(track.end[at] - track.start[at]);
    if (!sends && !receives) until = std::max(until, track.end[at]);
  });
  out.stage.push_back(until - from);
  add_parts_of_stage(plan, run, stage, out);
}

constexpr std::int64_t kLargestGraph = 512;  // tokens

StepTime time_with(const ServedModel& served, const Plan& plan, const Host& host) {
  SimulationOptions options;
  options.placement = served.placement;
  CostModel costs = served.costs;
  costs.host = host;
  const Simulation run = simulate(plan, served.cluster, costs, options);
  StepTime out;
  for (std::size_t s = 0; s < plan.programs.size(); ++s) measure_stage(plan, run, s, out);
  return out;
}

}  // namespace

std::int64_t padded_batch(std::int64_t n) {
  if (n <= 2) return n;
  if (n <= 4) return 4;
  if (n <= 256) return (n + 7) / 8 * 8;
  return n <= kLargestGraph ? (n + 15) / 16 * 16 : n;
}

bool is_captured(const Step& step) {
  return step.prefill.sequences == 0 && step.decode.sequences * step.decode.tokens <= kLargestGraph;
}

std::int64_t rounded(std::int64_t n) {
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
  if (bits <= 6) return n;
  const int drop = bits - 6;
  return (n + (std::int64_t{1} << (drop - 1))) >> drop << drop;
}

Step priced_shape(const Step& step, bool graphs) {
  Step out = step;
  out.prefill.tokens = rounded(step.prefill.tokens);
  out.prefill.context = std::max(out.prefill.tokens, rounded(step.prefill.context));
  if (graphs && step.prefill.sequences == 0) {
    const std::int64_t each = step.decode.tokens;  // graphs are captured for so many tokens
    out.decode.sequences = ceil_div(padded_batch(step.decode.sequences * each), each);
    out.sampled = padded_batch(step.sampled);
  }
  if (step.tokens_elsewhere > 0) out.tokens_elsewhere = rounded(step.tokens_elsewhere);
  // The same keys in all.
  const std::int64_t keys = step.decode.sequences * step.decode.context;
  if (keys > 0)
    out.decode.context = std::max(step.decode.tokens, rounded(keys / out.decode.sequences));
  return out;
}

StepTime time_step(const ServedModel& served, const Step& step) {
  const Plan plan = make_serving_plan(served.model, step, served.precision, served.layout, 1);
  StepTime out = time_with(served, plan, {});
  const Host& host = served.costs.host;
  if (!host.takes_time()) return out;
  if (served.graphs && is_captured(step)) {
    out.issue = to_sim_time(host.launch_time);
    out.stage.front() += out.issue;  // hosts of later stages launch theirs while these wait
    return out;
  }
  StepTime issued = time_with(served, plan, host);
  issued.issue = issued.total() - out.total();
  return issued;
}

StepCosts::Key StepCosts::key_of(const Step& s) {
  return {s.prefill.sequences, s.prefill.tokens, s.prefill.context, s.decode.sequences,
          s.decode.tokens,     s.decode.context, s.sampled,         s.tokens_elsewhere};
}

const StepTime& StepCosts::operator()(const Step& step) {
  const Step s = priced_shape(step, served_.graphs);
  const Key key = key_of(s);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, time_step(served_, s)).first->second;
}

}  // namespace plait
