#include "sim/binding_members.h"

#include <variant>

namespace plait {
namespace {

OpsOfBlocks crossing_ops(const Plan& plan) {
  return ops_of_blocks(plan, [&plan](BlockId block, std::uint16_t i) {
    const Op& op = plan.blocks[block].ops[i];
    const Collective* c = std::get_if<Collective>(&op.body);
    return std::holds_alternative<Send>(op.body) || (c != nullptr && c->axes.has(Axis::kPp));
  });
}

}  // namespace

BindingMembers::BindingMembers(const RecordedStep& step)
    : step_(step), deps_(*step.simulation().dependencies), crossing_(crossing_ops(step.plan())) {
  for (std::size_t s = 0; s < step.plan().programs.size(); ++s) index_messages(s);
}

PlaceInTrack BindingMembers::binding(PlaceInTrack at) const {
  const std::size_t s = step_.stage_of(at.track);
  const Op& o = step_.op(s, at.flat);
  const SimTime start = step_.tracks()[at.track].start[at.flat];
  const std::uint32_t cause = step_.cause(at.track, at.flat);
  const bool own = (cause != kNoCause && step_.tracks()[at.track].end[cause] == start) ||
                   step_.waited_for_host(at.track, at.flat, start);
  const std::size_t per_stage = step_.tracks_per_stage();
  if (std::holds_alternative<Recv>(o.body)) {
    const PlaceInTrack sender = sender_[deps_.programs[s].message[step_.call(s, at.flat)]];
    for (std::size_t lane = 0; lane < per_stage && sender.flat != kNoCause; ++lane) {
      const PlaceInTrack remote{sender.track * per_stage + lane, sender.flat};
      const bool waited =
          step_.tracks()[remote.track].end[remote.flat] == step_.tracks()[at.track].end[at.flat];
      if (waited && of_one_rank(s, lane, step_.lane_of(at.track))) return remote;
    }
    return at;
  }
  const Collective* c = std::get_if<Collective>(&o.body);
  if (c == nullptr || own || start == 0) return at;
  return last_member(at, *c, start);
}

/// Lanes of places that one rank of the stage has: its messages come in on all of them.
bool BindingMembers::of_one_rank(std::size_t stage, std::size_t a, std::size_t b) const {
  const std::vector<Grouping>& shared = step_.simulation().lanes->shared;
  return a == b || (!shared.empty() && shared[stage].group_of[a] == shared[stage].group_of[b]);
}

/// The first that was ready when the collective started; where none is recorded, the latest of
/// those that are.
PlaceInTrack BindingMembers::last_member(PlaceInTrack at, const Collective& c,
                                         SimTime start) const {
  const std::size_t s = step_.stage_of(at.track), lane = step_.lane_of(at.track);
  const std::size_t per_stage = step_.tracks_per_stage();
  const Grouping& g = step_.simulation().lanes->groupings[step_.simulation().lanes->grouping(c)];
  const bool across = c.axes.has(Axis::kPp);
  const auto k = across ? occurrence(s, at.flat, c.stages) : 0;
  PlaceInTrack latest = at;
  SimTime ready = step_.ready(at.track, at.flat);
  for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
    const std::size_t other = t / per_stage;
    if (g.group_of[t % per_stage] != g.group_of[lane] || (!across && other != s)) continue;
    if (across && meeting(c, other) != meeting(c, s)) continue;
    const std::uint32_t flat = across ? nth(other, k, c.stages) : at.flat;
    if (flat == kNoCause) continue;
    const SimTime its = step_.ready(t, flat);
    if (its == start) return {t, flat};
    if (its > ready) latest = {t, flat}, ready = its;
  }
  return latest;
}

std::int64_t BindingMembers::meeting(const Collective& c, std::size_t stage) const {
  return first_of_meeting(c.stages, static_cast<std::int64_t>(stage),
                          static_cast<std::int64_t>(step_.plan().programs.size()));
}

std::size_t BindingMembers::occurrence(std::size_t stage, std::uint32_t flat, Stages which) const {
  std::size_t k = 0;
  for (std::uint32_t f : across_[stage]) {
    if (f == flat) return k;
    if (std::get<Collective>(step_.op(stage, f).body).stages == which) ++k;
  }
  return k;
}

std::uint32_t BindingMembers::nth(std::size_t stage, std::size_t k, Stages which) const {
  for (std::uint32_t f : across_[stage]) {
    if (std::get<Collective>(step_.op(stage, f).body).stages == which && k-- == 0) return f;
  }
  return kNoCause;
}

void BindingMembers::index_messages(std::size_t s) {
  sender_.resize(deps_.messages, {0, kNoCause});
  across_.emplace_back();
  for_each_op(step_.plan(), s, crossing_, [&](std::uint32_t flat, std::size_t call, const Op& op) {
    if (std::holds_alternative<Send>(op.body)) {
      sender_[deps_.programs[s].message[call]] = {s, flat};
    } else {
      across_[s].push_back(flat);
    }
  });
}

}  // namespace plait
