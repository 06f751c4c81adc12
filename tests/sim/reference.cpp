#include "tests/sim/reference.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

#include "costmodel/issue.h"

namespace plait {
namespace {

/// Whether a rank of the group takes part in the collective of `rank`.
bool together(const Plan& plan, const Collective& c, std::int64_t rank, std::int64_t other) {
  const std::int64_t last = plan.mesh[Axis::kPp] - 1;
  const std::int64_t own = rank / plan.places_per_stage(), its = other / plan.places_per_stage();
  switch (c.stages) {
    case Stages::kAll: return true;
    case Stages::kEnds: return its == 0 || its == last;
    case Stages::kMirrored: return its == own || its == last - own;
  }
  return true;
}

/// One op of one rank.
struct Instance {
  const Op* op = nullptr;
  BlockId block = 0;
  std::size_t index = 0;  // within the block
  std::size_t call = 0;
  std::int32_t layer = 0, microbatch = 0;
};

std::vector<Instance> expand(const Plan& plan, std::size_t stage) {
  std::vector<Instance> out;
  const std::vector<Call>& calls = plan.programs[stage].calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const std::vector<Op>& ops = plan.blocks[calls[c].block].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      out.push_back({&ops[i], calls[c].block, i, c, calls[c].layer, calls[c].microbatch});
    }
  }
  return out;
}

/// A tensor member: root tensor, then layer, microbatch and call where the scope has them.
using Member = std::tuple<TensorId, std::int64_t, std::int64_t, std::int64_t>;

Member member(const Plan& plan, const Instance& at, const Operand& o) {
  const TensorId root =
      plan.tensors[o.tensor].is_view() ? plan.tensors[o.tensor].storage : o.tensor;
  const std::int64_t layer = at.layer + o.shift;
  switch (plan.tensors[root].scope) {
    case Scope::kRole: return {root, -1, -1, -1};
    case Scope::kLayer: return {root, layer, -1, -1};
    case Scope::kMicrobatch: return {root, -1, at.microbatch, -1};
    case Scope::kLayerMicrobatch: return {root, layer, at.microbatch, -1};
    case Scope::kCall: return {root, -1, -1, static_cast<std::int64_t>(at.call)};
  }
  return {};
}

bool starts_behind_compute(Stream s) {
  return s == Stream::kTp || s == Stream::kCp || s == Stream::kEp || s == Stream::kSendForward ||
         s == Stream::kRecvForward || s == Stream::kSendBackward || s == Stream::kRecvBackward;
}

struct State {
  std::vector<Instance> ops;
  std::vector<std::vector<std::size_t>> waits;
  std::vector<std::size_t> left;  // flat ops that have not run
  std::vector<bool> done;
  std::vector<SimTime> issue;
  std::vector<HostWait> host_waits;
  /// When the host has issued op i: it begins behind the last op before that it waited for.
  SimTime issued(std::size_t i) const {
    SimTime time = 0;
    for (std::size_t j = 0, behind = 0; j <= i; ++j) {
      time += issue[j];
      const HostWait wait = j == i ? HostWait::kNot : host_waits[j];
      if (wait == HostWait::kOp) time = std::max(time, spans.end[j]);
      if (wait != HostWait::kDevice) continue;
      for (; behind <= j; ++behind) time = std::max(time, spans.end[behind]);
    }
    return time;
  }
  /// All ops have ended that the host waits for before it issues op i.
  bool may_issue(std::size_t i) const {
    for (std::size_t j = i; j-- > 0;) {
      const HostWait wait = host_waits[j];
      if (wait == HostWait::kNot) continue;
      if (wait == HostWait::kOp) return done[j];
      return std::all_of(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(j) + 1,
                         [](bool d) { return d; });
    }
    return true;
  }
  RankSpans spans;
};

class Reference {
 public:
  Reference(const Plan& plan, const OpDuration& duration, const Host& host, const Beside& beside,
            ShiftWaits waits)
      : plan_(plan), duration_(duration), host_(host), beside_(beside), shift_waits_(waits) {
    for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) {
      const auto stage = static_cast<std::size_t>(r / plan.places_per_stage());
      State s;
      s.ops = expand(plan, stage);
      s.waits = r % plan.places_per_stage() == 0 ? reference_waits(plan, stage)
                                                 : ranks_[ranks_.size() - 1].waits;
      for (std::size_t i = 0; i < s.ops.size(); ++i) s.left.push_back(i);
      s.done.assign(s.ops.size(), false);
      for (const Instance& at : s.ops) {
        s.issue.push_back(to_sim_time(issue_times(plan.blocks[at.block], host)[at.index]));
        s.host_waits.push_back(wait_after(plan.blocks[at.block], at.index, host));
      }
      s.spans.start.assign(s.ops.size(), 0);
      s.spans.end.assign(s.ops.size(), 0);
      ranks_.push_back(std::move(s));
    }
  }

  ReferenceRun run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        for (std::size_t i : ranks_[r].left) changed = attempt(r, i) || changed;
        std::erase_if(ranks_[r].left, [&](std::size_t i) { return ranks_[r].done[i]; });
      }
    }
    ReferenceRun out;
    for (State& s : ranks_) {
      out.blocked = out.blocked || !s.left.empty();
      for (SimTime t : s.spans.end) out.step_time = std::max(out.step_time, t);
      out.ranks.push_back(std::move(s.spans));
    }
    return out;
  }

 private:
  /// Sender, receiver, tensor, layer, microbatch.
  using Message = std::tuple<std::size_t, std::size_t, TensorId, std::int64_t, std::int64_t>;

  bool ready(std::size_t r, std::size_t i, SimTime& when) const {
    when = 0;
    for (std::size_t w : ranks_[r].waits[i]) {
      if (!ranks_[r].done[w]) return false;
      when = std::max(when, ranks_[r].spans.end[w]);
    }
    if (slowed(r, i)) {
      for (std::size_t j = 0; j < i; ++j) {
        if (held(r, j) > 0 && !ranks_[r].done[j]) return false;
      }
    }
    if (!host_.takes_time()) return true;
    if (!ranks_[r].may_issue(i)) return false;
    when = std::max(when, ranks_[r].issued(i));
    return true;
  }
  /// A kernel that collectives may slow down.
  bool slowed(std::size_t r, std::size_t i) const {
    const Op& op = *ranks_[r].ops[i].op;
    return beside_.device && op.stream == Stream::kCompute &&
           std::holds_alternative<Compute>(op.body);
  }
  int held(std::size_t r, std::size_t i) const {
    const Instance& at = ranks_[r].ops[i];
    return beside_.held(static_cast<std::int64_t>(r), at.block, at.index);
  }
  SimTime end_of(std::size_t r, std::size_t i, SimTime start, SimTime work) const {
    if (!slowed(r, i)) return start + work;
    std::vector<Stretch> stretches;
    for (std::size_t j = 0; j < i; ++j) {
      const int sms = held(r, j);
      if (sms > 0) stretches.push_back({ranks_[r].spans.start[j], ranks_[r].spans.end[j], sms});
    }
    return end_of_kernel(stretches, beside_.device(static_cast<std::int64_t>(r)), start, work);
  }
  SimTime duration(std::size_t r, std::size_t i) const {
    const Instance& at = ranks_[r].ops[i];
    return duration_(static_cast<std::int64_t>(r), at.block, at.index);
  }
  void finish(std::size_t r, std::size_t i, SimTime start, SimTime end) {
    ranks_[r].spans.start[i] = start;
    ranks_[r].spans.end[i] = end;
    ranks_[r].done[i] = true;
  }
  Message message(std::size_t from, std::size_t to, const Instance& at) const {
    const Operand& o = at.op->operands.at(0);
    return {from, to, o.tensor, at.layer + o.shift, at.microbatch};
  }
  std::size_t peer(std::size_t r, Axis axis, int offset) const {
    return static_cast<std::size_t>(
        plan_.mesh.neighbour(static_cast<std::int64_t>(r), axis, offset));
  }

  bool attempt(std::size_t r, std::size_t i) {
    SimTime when = 0;
    if (ranks_[r].done[i] || !ready(r, i, when)) return false;
    const Instance& at = ranks_[r].ops[i];
    if (const Collective* c = std::get_if<Collective>(&at.op->body)) {
      const bool alone =
          c->kind == CollectiveKind::kShift && shift_waits_ == ShiftWaits::kForSender;
      return alone ? shift(r, i, *c, when) : meet(r, i, *c);
    }
    const SimTime d = duration(r, i);
    if (const Send* s = std::get_if<Send>(&at.op->body)) {
      arrived_[message(r, peer(r, s->axis, s->offset), at)].push_back(when + d);
    }
    if (const Recv* v = std::get_if<Recv>(&at.op->body)) {
      std::deque<SimTime>& arrivals = arrived_[message(peer(r, v->axis, v->offset), r, at)];
      if (arrivals.empty()) return false;
      // The span shows the transfer, not the wait for the sender.
      finish(r, i, std::max(when, arrivals.front() - d), std::max(when, arrivals.front()));
      arrivals.pop_front();
      return true;
    }
    finish(r, i, when, end_of(r, i, when, d));
    return true;
  }

  /// Runs the collective on all members once all of them are ready.
  bool meet(std::size_t r, std::size_t i, const Collective& c) {
    const std::size_t k = occurrence(r, i, c);
    std::vector<std::pair<std::size_t, std::size_t>> members;
    SimTime latest = 0;
    for (std::int64_t m : plan_.mesh.group(static_cast<std::int64_t>(r), c.axes)) {
      if (!together(plan_, c, static_cast<std::int64_t>(r), m)) continue;
      const auto rank = static_cast<std::size_t>(m);
      const std::size_t flat = nth(rank, k, c);
      SimTime when = 0;
      if (flat == ranks_[rank].ops.size() || !ready(rank, flat, when)) return false;
      latest = std::max(latest, when);
      members.emplace_back(rank, flat);
    }
    for (const auto& [rank, flat] : members)
      finish(rank, flat, latest, latest + duration(rank, flat));
    return true;
  }
  /// Of a shift the rank's own part: what the member before sends leaves when that one is ready.
  bool shift(std::size_t r, std::size_t i, const Collective& c, SimTime when) {
    const std::vector<std::int64_t> group = plan_.mesh.group(static_cast<std::int64_t>(r), c.axes);
    const auto own = std::ranges::find(group, static_cast<std::int64_t>(r));
    const auto before = static_cast<std::size_t>(own == group.begin() ? group.back() : *(own - 1));
    const std::size_t flat = nth(before, occurrence(r, i, c), c);
    SimTime sent = 0;
    if (flat == ranks_[before].ops.size() || !ready(before, flat, sent)) return false;
    const SimTime start = std::max(when, sent);
    finish(r, i, start, start + duration(r, i));
    return true;
  }
  bool alike(std::size_t r, std::size_t i, const Collective& c) const {
    const Collective* other = std::get_if<Collective>(&ranks_[r].ops[i].op->body);
    return other != nullptr && other->axes == c.axes && other->stages == c.stages;
  }
  /// Collectives over the same axes meet in the order of issue: this is the k-th.
  std::size_t occurrence(std::size_t r, std::size_t i, const Collective& c) const {
    std::size_t k = 0;
    for (std::size_t j = 0; j < i; ++j) k += alike(r, j, c) ? 1 : 0;
    return k;
  }
  std::size_t nth(std::size_t r, std::size_t k, const Collective& c) const {
    for (std::size_t j = 0; j < ranks_[r].ops.size(); ++j) {
      if (alike(r, j, c) && k-- == 0) return j;
    }
    return ranks_[r].ops.size();
  }

  const Plan& plan_;
  const OpDuration& duration_;
  Host host_;
  const Beside& beside_;
  ShiftWaits shift_waits_;
  std::vector<State> ranks_;
  std::map<Message, std::deque<SimTime>> arrived_;
};

}  // namespace

std::vector<std::vector<std::size_t>> reference_waits(const Plan& plan, std::size_t stage) {
  struct Touch {
    std::size_t op;
    bool writes;
  };
  const std::vector<Instance> ops = expand(plan, stage);
  std::vector<std::vector<std::size_t>> waits(ops.size());
  std::map<Member, std::vector<Touch>> history;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto latest_on = [&](Stream stream) {
      for (std::size_t j = i; j-- > 0;) {
        if (ops[j].op->stream == stream) return waits[i].push_back(j);
      }
    };
    latest_on(ops[i].op->stream);
    if (starts_behind_compute(ops[i].op->stream)) latest_on(Stream::kCompute);
    const std::int32_t after = plan.programs[stage].calls[ops[i].call].after;
    for (std::size_t j = 0; j < i && after >= 0 && ops[i].index == 0; ++j) {
      if (ops[j].call == static_cast<std::size_t>(after)) waits[i].push_back(j);
    }
    for (const Operand& o : ops[i].op->operands) {
      const bool writes = o.use != Use::kRead;
      std::vector<Touch>& touches = history[member(plan, ops[i], o)];
      for (const Touch& t : touches) {
        if (t.op != i && (writes || t.writes)) waits[i].push_back(t.op);
      }
      touches.push_back({i, writes});
    }
    std::sort(waits[i].begin(), waits[i].end());
    waits[i].erase(std::unique(waits[i].begin(), waits[i].end()), waits[i].end());
  }
  return waits;
}

ReferenceRun reference_run(const Plan& plan, const OpDuration& duration, const Host& host,
                           const Beside& beside, ShiftWaits waits) {
  return Reference(plan, duration, host, beside, waits).run();
}

std::vector<double> factors_of(const Cluster& cluster, const std::vector<std::int64_t>& placement) {
  std::vector<double> out(static_cast<std::size_t>(cluster.world_size()), 1.0);
  for (std::size_t r = 0; r < out.size(); ++r) {
    for (const Slowdown& s : cluster.slowdowns) {
      if (s.device == (placement.empty() ? static_cast<std::int64_t>(r) : placement[r]))
        out[r] *= s.factor;
    }
  }
  return out;
}

OpDuration priced_one_by_one(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                             const std::vector<std::int64_t>& placement,
                             const std::vector<double>& factor) {
  using Key = std::tuple<std::int64_t, BlockId, std::size_t>;
  const auto known = std::make_shared<std::map<Key, SimTime>>();
  const auto device = [placement](std::int64_t r) {
    return placement.empty() ? r : placement[static_cast<std::size_t>(r)];
  };
  const auto peer_path = [=, &plan, &cluster](std::int64_t rank, std::int64_t peer) {
    const std::int64_t width = plan.places_per_stage();
    std::vector<std::int64_t> pipeline;
    for (std::int64_t r = rank % width; r < plan.mesh.world_size(); r += width)
      pipeline.push_back(device(r));
    return route_to_peer(cluster, device(rank), device(peer), pipeline, width).all;
  };
  return [=, &plan, &cluster](std::int64_t rank, BlockId block, std::size_t index) {
    const Key key{rank, block, index};
    if (const auto found = known->find(key); found != known->end()) return found->second;
    const Op& op = plan.blocks[block].ops[index];
    Seconds t;
    if (const Compute* c = std::get_if<Compute>(&op.body)) {
      const NodeKind& node = cluster.kind(cluster.kind_of(device(rank)));
      t = costs.compute(*c, node.device).total() * factor[static_cast<std::size_t>(rank)];
    } else if (const Collective* g = std::get_if<Collective>(&op.body)) {
      std::vector<std::int64_t> devices;
      for (std::int64_t m : plan.mesh.group(rank, g->axes)) {
        if (together(plan, *g, rank, m)) devices.push_back(device(m));
      }
      t = costs.collective(*g, place_group(cluster, devices), cluster).cost.total();
    } else if (const Send* s = std::get_if<Send>(&op.body)) {
      const std::int64_t to = plan.mesh.neighbour(rank, s->axis, s->offset);
      t = costs.transfer(s->bytes, peer_path(rank, to)).total();
    } else if (const Recv* r = std::get_if<Recv>(&op.body)) {
      const std::int64_t from = plan.mesh.neighbour(rank, r->axis, r->offset);
      t = costs.transfer(r->bytes, peer_path(rank, from)).total();
    } else {
      const NodeKind& node = cluster.kind(cluster.kind_of(device(rank)));
      t = costs.copy(std::get<Copy>(op.body), node).total();
    }
    return (*known)[key] = to_sim_time(t);
  };
}

}  // namespace plait
