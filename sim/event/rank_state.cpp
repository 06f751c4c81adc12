#include "sim/event/rank_state.h"

#include <string>

#include "plan/places.h"

namespace plait {
namespace {

std::string place(const Plan& plan, std::size_t stage, const HostOp& at) {
  const Call& call = plan.programs[stage].calls[at.call];
  return plan.blocks[call.block].name + ", " + std::string(name_of(*at.op)) + " (layer " +
         std::to_string(call.layer) + ", microbatch " + std::to_string(call.microbatch) + ")";
}

/// The peers of an op, other than the rank itself.
std::string others(const Plan& plan, std::int64_t rank, const Op& op) {
  std::vector<std::int64_t> ranks;
  if (const Send* s = std::get_if<Send>(&op.body)) ranks = peers(plan, rank, s->axis, s->offset);
  if (const Recv* r = std::get_if<Recv>(&op.body)) ranks = peers(plan, rank, r->axis, r->offset);
  const Collective* c = std::get_if<Collective>(&op.body);
  if (c != nullptr) ranks = members(plan, rank, c->axes, c->stages);
  if (c != nullptr) std::erase(ranks, rank);
  std::string out = c == nullptr && ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    out += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return out;
}

}  // namespace

std::string blocked_ranks(const Plan& plan, const std::vector<RankState>& ranks) {
  std::string what = "the plan cannot make progress:";
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankState& state = ranks[r];
    if (state.finished()) continue;
    const auto rank = static_cast<std::int64_t>(r);
    const auto stage = static_cast<std::size_t>(stage_of_rank(plan, rank));
    const std::vector<HostOp>& ops = state.program->ops;
    const std::string name = "\n  rank " + std::to_string(r) + " waits at ";
    for (std::size_t s = 0; s < kStreams; ++s) {
      const StreamState& stream = state.streams[s];
      if (!stream.running) continue;
      const HostOp& at = ops[state.program->on_stream[s][stream.next]];
      what += name + place(plan, stage, at) + " for " + others(plan, rank, *at.op);
    }
    if (state.issued == ops.size()) continue;
    what += name + place(plan, stage, ops[state.issued]) + " for " +
            place(plan, stage, ops[state.waits_for(state.issued)]);
  }
  return what;
}

}  // namespace plait
