#include "reports/flows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/error.h"
#include "plan/places.h"
#include "plan/walk.h"

namespace plait {
namespace {

/// A message: the member of a tensor family that it carries, the axis and the sender's offset.
using Key = std::tuple<TensorId, std::int64_t, std::int64_t, Axis, int>;

/// Members are told apart only by the loop variables that the family is indexed over; messages of
/// one member arrive in the order in which they are sent.
Key key_of(const Plan& plan, const Call& call, const Operand& operand, Axis axis, int offset) {
  const Scope scope = plan.tensors[operand.tensor].scope;
  const bool by_layer = scope == Scope::kLayer || scope == Scope::kLayerMicrobatch;
  const bool by_microbatch = scope == Scope::kMicrobatch || scope == Scope::kLayerMicrobatch;
  return {operand.tensor, by_layer ? call.layer + operand.shift : -1,
          by_microbatch ? call.microbatch : -1, axis, offset};
}

const Operand* operand_with(const Op& op, bool written) {
  for (const Operand& o : op.operands) {
    if ((o.use != Use::kRead) == written) return &o;
  }
  return nullptr;
}

struct Sent {
  SimTime start = 0;
  Stream stream = Stream::kCompute;
};
using SentBy = std::map<Key, std::vector<Sent>>;

SentBy sends_of(const Plan& plan, const Track& track) {
  SentBy out;
  for_each_op(plan, static_cast<std::size_t>(track.stage),
              [&](std::int64_t flat, const Call& call, const Op& op) {
                const auto* send = std::get_if<Send>(&op.body);
                const Operand* what = send != nullptr ? operand_with(op, false) : nullptr;
                if (what == nullptr) return;
                const Key key = key_of(plan, call, *what, send->axis, send->offset);
                out[key].push_back({track.start[static_cast<std::size_t>(flat)], op.stream});
              });
  return out;
}

/// The track of `rank`, or one of the same stage; tracks.size() when there is none.
std::size_t track_for(const Plan& plan, const std::vector<const Track*>& tracks,
                      std::int64_t rank) {
  const std::int64_t stage = stage_of_rank(plan, rank);
  std::size_t same_stage = tracks.size();
  for (std::size_t i = tracks.size(); i-- > 0;) {
    if (tracks[i]->rank == rank) return i;
    if (tracks[i]->stage == stage) same_stage = i;
  }
  return same_stage;
}

}  // namespace

std::vector<FlowArrow> flows_of(const Plan& plan, const std::vector<const Track*>& tracks) {
  std::vector<SentBy> sent;
  for (const Track* t : tracks) sent.push_back(sends_of(plan, *t));
  std::vector<FlowArrow> flows;
  for (const Track* t : tracks) {
    std::map<std::pair<std::size_t, Key>, std::size_t> taken;
    for_each_op(plan, static_cast<std::size_t>(t->stage),
                [&](std::int64_t flat, const Call& call, const Op& op) {
                  const auto* recv = std::get_if<Recv>(&op.body);
                  const Operand* what = recv != nullptr ? operand_with(op, true) : nullptr;
                  if (what == nullptr) return;
                  const std::int64_t peer = peers(plan, t->rank, recv->axis, recv->offset).front();
                  const std::size_t from = track_for(plan, tracks, peer);
                  if (from == tracks.size()) return;
                  const Key key = key_of(plan, call, *what, recv->axis, -recv->offset);
                  const auto messages = sent[from].find(key);
                  std::size_t& n = taken[{from, key}];
                  if (messages == sent[from].end() || n >= messages->second.size()) return;
                  const Sent& s = messages->second[n++];
                  const SimTime start = t->start[static_cast<std::size_t>(flat)];
                  flows.push_back({tracks[from]->rank, t->rank, s.stream, op.stream, s.start,
                                   std::max(start, s.start)});
                });
  }
  return flows;
}

}  // namespace plait
