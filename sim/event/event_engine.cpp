#include "sim/event/event_engine.h"

#include <algorithm>

#include "core/error.h"
#include "plan/places.h"
#include "sim/event/copies.h"
#include "sim/event/machine.h"
#include "sim/event/messages.h"
#include "sim/event/rank_state.h"
#include "sim/sites.h"
#include "topologies/placement.h"

namespace plait {
namespace {

std::vector<std::int64_t> hosts_of(const Plan& plan, const HostSystem& system,
                                   const std::vector<std::int64_t>& placement) {
  std::vector<std::int64_t> out;
  for (std::int64_t r = 0; r < rank_count(plan); ++r) {
    out.push_back(device_of(r, placement) / system.ranks_per_host);
    PLAIT_CHECK(out.back() >= 0 && out.back() < system.hosts, "a rank on a host that is not there");
  }
  return out;
}

class EventEngine {
 public:
  EventEngine(const Plan& plan, const HostSystem& system, const WorkOf& work,
              const std::vector<std::int64_t>& placement)
      : plan_(plan),
        system_(system),
        machine_(system, hosts_of(plan, system, placement)),
        messages_(system, machine_),
        deps_(dependencies(plan)),
        programs_(host_programs(plan, deps_)),
        wake_(to_sim_time(system.hosts > 1 ? system.between.wake : system.within.wake)) {
    for (const Block& b : plan.blocks) ops_ += b.ops.size();
    for (std::int64_t r = 0; r < rank_count(plan); ++r) add_rank(r, work);
  }

  Timeline run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) advance(r);
    for (HostEvent event; machine_.next(event);) handle(event);
    for (const RankState& r : ranks_) {
      if (!r.finished()) throw InternalError(blocked_ranks(plan_, ranks_));
    }
    for (const Track& t : out_.tracks) {
      for (SimTime end : t.end) out_.step_time = std::max(out_.step_time, end);
    }
    return std::move(out_);
  }

 private:
  void add_rank(std::int64_t rank, const WorkOf& work) {
    const std::int64_t stage = stage_of_rank(plan_, rank);
    RankState state;
    state.program = &programs_[static_cast<std::size_t>(stage)];
    const std::size_t n = state.program->ops.size();
    state.done.assign(n, 0);
    ranks_.push_back(std::move(state));
    out_.tracks.push_back({stage, rank, 1, Instants(n), Instants(n)});
    for (const Block& b : plan_.blocks) {
      for (const Op& op : b.ops) {
        const bool local =
            std::holds_alternative<Compute>(op.body) || std::holds_alternative<Copy>(op.body);
        work_.push_back(local ? to_sim_time(work(op, rank)) : 0);
      }
    }
    exchanges_.resize(ranks_.size() * ops_);
  }

  void handle(const HostEvent& event) {
    switch (event.kind) {
      case EventKind::kComputed: return computed(event.rank);
      case EventKind::kResumed: return resumed(event.rank);
      case EventKind::kHandedOver: return woken(event.rank, static_cast<Stream>(event.id));
      case EventKind::kLocal: return end_communication(event.rank, static_cast<Stream>(event.id));
      case EventKind::kGathered: return gathered(event.rank, static_cast<Stream>(event.id));
      case EventKind::kCombined: return next_round(event.rank, static_cast<Stream>(event.id));
      case EventKind::kSentHead:
      case EventKind::kSentRest:
      case EventKind::kReadRest:
      case EventKind::kReadTail:
      case EventKind::kFlowed:
      case EventKind::kFirstBytes:
      case EventKind::kArrived: break;
    }
    const auto end = messages_.handle(event);
    if (end) transfer_ended(end->rank, end->stream);
  }

  // ---- the compute thread
  void advance(std::uint32_t rank) {
    RankState& r = ranks_[rank];
    while (!r.computing && r.issued < r.program->ops.size()) {
      const Op& op = *r.program->ops[r.issued].op;
      if (op.stream == Stream::kCompute) {
        r.waiting = !r.ready(r.issued);
        if (r.waiting) break;
        compute(rank, op);
      } else {
        ++r.issued;
      }
    }
    start_streams(rank, machine_.asleep(rank) ? wake_ : 0);
  }
  void resumed(std::uint32_t rank) {
    ranks_[rank].resuming = false;
    advance(rank);
  }
  void compute(std::uint32_t rank, const Op& op) {
    RankState& r = ranks_[rank];
    PLAIT_CHECK(std::holds_alternative<Compute>(op.body), "communication in the compute stream");
    r.computing = true;
    out_.tracks[rank].start[r.issued] = machine_.now();
    const SimTime work = work_[rank * ops_ + r.program->ops[r.issued].id];
    if (system_.timed_compute) return machine_.after(work, rank, EventKind::kComputed, 0);
    machine_.compute(rank, work);
  }
  void computed(std::uint32_t rank) {
    RankState& r = ranks_[rank];
    r.computing = false;
    end_op(rank, r.issued++);
    advance(rank);
  }
  void end_op(std::uint32_t rank, std::uint32_t flat) {
    out_.tracks[rank].end[flat] = machine_.now();
    ranks_[rank].done[flat] = 1;
    ++ranks_[rank].ended;
  }

  // ---- the communication thread
  StreamState& stream_of(std::uint32_t rank, Stream s) {
    return ranks_[rank].streams[static_cast<std::size_t>(s)];
  }
  std::uint32_t head(std::uint32_t rank, Stream s) {
    return ranks_[rank].program->on_stream[static_cast<std::size_t>(s)][stream_of(rank, s).next];
  }
  void start_streams(std::uint32_t rank, SimTime delay) {
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (static_cast<Stream>(s) != Stream::kCompute) {
        start_next(rank, static_cast<Stream>(s), delay);
      }
    }
  }
  /// `delay`: until the communication thread has woken up.
  void start_next(std::uint32_t rank, Stream s, SimTime delay) {
    const RankState& r = ranks_[rank];
    StreamState& stream = stream_of(rank, s);
    if (stream.running || stream.next == r.program->on_stream[static_cast<std::size_t>(s)].size())
      return;
    const std::uint32_t flat = head(rank, s);
    if (flat >= r.issued || !r.ready(flat)) return;
    stream.running = true;
    if (delay == 0) return woken(rank, s);
    machine_.after(delay, rank, EventKind::kHandedOver, static_cast<std::uint32_t>(s));
  }
  void woken(std::uint32_t rank, Stream s) {
    const std::uint32_t flat = head(rank, s);
    out_.tracks[rank].start[flat] = machine_.now();
    start_communication(rank, s, ranks_[rank].program->ops[flat]);
  }
  void start_communication(std::uint32_t rank, Stream s, const HostOp& at) {
    if (const Collective* c = std::get_if<Collective>(&at.op->body)) {
      StreamState& stream = stream_of(rank, s);
      stream.exchange = &exchange(rank, at.id, *c);
      stream.round = 0;
      if (!stream.exchange->rounds.empty()) return start_collective(rank, s, *at.op, *c);
    }
    if (const Send* m = std::get_if<Send>(&at.op->body)) {
      return message(rank, s, at, *m, true);
    }
    if (const Recv* m = std::get_if<Recv>(&at.op->body)) {
      return message(rank, s, at, *m, false);
    }
    const bool takes_none =
        system_.timed_compute || std::holds_alternative<Collective>(at.op->body);
    const SimTime work = takes_none ? 0 : work_[rank * ops_ + at.id];
    machine_.work(rank, s, work, EventKind::kLocal, static_cast<std::uint32_t>(s));
  }
  template <class M>  // Send or Recv
  void message(std::uint32_t rank, Stream s, const HostOp& at, const M& m, bool sends) {
    const auto channel = static_cast<std::uint32_t>(channel_of(*at.op));
    const auto stage = static_cast<std::size_t>(out_.tracks[rank].stage);
    const std::vector<std::int64_t> all = peers(plan_, rank, m.axis, m.offset);
    stream_of(rank, s).transfers = all.size();
    for (const std::int64_t peer : all) {
      const MessageEnd end{rank,    static_cast<std::uint32_t>(peer),       s,
                           channel, deps_.programs[stage].message[at.call], m.bytes};
      sends ? messages_.send(end) : messages_.receive(end);
    }
  }
  const Exchange& exchange(std::uint32_t rank, std::uint32_t op, const Collective& c) {
    Exchange& e = exchanges_[rank * ops_ + op];
    if (e.known) return e;
    e.known = true;
    e.group = members(plan_, rank, c.axes, c.stages);
    const auto n = static_cast<std::int64_t>(e.group.size());
    const auto index = std::ranges::find(e.group, std::int64_t{rank}) - e.group.begin();
    Arrangement arrangement{pattern_of(c.kind, n, c.bytes())};
    arrangement.servers = c.servers;
    e.rounds = rounds_of(arrangement, c.kind, n, index, c.elements);
    return e;
  }
  void start_collective(std::uint32_t rank, Stream s, const Op& op, const Collective& c) {
    const SimTime work = copy_time(rank, s, op, c, &Copies::before);
    if (work == 0) return start_round(rank, s, c);
    machine_.work(rank, s, work, EventKind::kGathered, static_cast<std::uint32_t>(s));
  }
  void gathered(std::uint32_t rank, Stream s) {
    const Op& op = *ranks_[rank].program->ops[head(rank, s)].op;
    start_round(rank, s, std::get<Collective>(op.body));
  }
  SimTime copy_time(std::uint32_t rank, Stream s, const Op& op, const Collective& c,
                    Bytes Copies::*part) {
    const auto n = static_cast<std::int64_t>(stream_of(rank, s).exchange->group.size());
    const Bytes bytes = copies_of(op, c, n).*part;
    return bytes.value == 0 ? 0 : to_sim_time(system_.copy.at(bytes));
  }
  void end_collective(std::uint32_t rank, Stream s, const Collective& c) {
    const Op& op = *ranks_[rank].program->ops[head(rank, s)].op;
    const SimTime work = copy_time(rank, s, op, c, &Copies::after);
    if (work == 0) return end_communication(rank, s);
    machine_.work(rank, s, work, EventKind::kLocal, static_cast<std::uint32_t>(s));
  }
  void start_round(std::uint32_t rank, Stream s, const Collective& c) {
    StreamState& stream = stream_of(rank, s);
    const Exchange& e = *stream.exchange;
    if (stream.round == e.rounds.size()) return end_collective(rank, s, c);
    const Round& round = e.rounds[stream.round];
    stream.transfers = round.size();
    const std::uint64_t tag = (std::uint64_t{1} << 32) + (std::uint64_t{c.axes.bits()} << 8) +
                              static_cast<std::uint64_t>(c.kind);
    for (const Transfer& t : round) {
      const auto peer = static_cast<std::uint32_t>(e.group[static_cast<std::size_t>(t.peer)]);
      const MessageEnd end{rank, peer,
                           s,    static_cast<std::uint32_t>(s),
                           tag,  Bytes(bytes_of(c.dtype, t.range.elements))};
      t.direction == Direction::kSend ? messages_.send(end) : messages_.receive(end);
    }
  }
  void transfer_ended(std::uint32_t rank, Stream s) {
    StreamState& stream = stream_of(rank, s);
    if (--stream.transfers > 0) return;
    const Op& op = *ranks_[rank].program->ops[head(rank, s)].op;
    const Collective* c = std::get_if<Collective>(&op.body);
    if (c == nullptr) return end_communication(rank, s);
    SimTime work = 0;
    for (const Transfer& t : stream.exchange->rounds[stream.round]) {
      const Bytes bytes(bytes_of(c->dtype, t.range.elements));
      if (t.combine) work += to_sim_time(system_.combine.at(bytes));
    }
    if (work == 0) return next_round(rank, s);
    machine_.work(rank, s, work, EventKind::kCombined, static_cast<std::uint32_t>(s));
  }
  void next_round(std::uint32_t rank, Stream s) {
    ++stream_of(rank, s).round;
    start_round(rank, s, std::get<Collective>(ranks_[rank].program->ops[head(rank, s)].op->body));
  }
  void end_communication(std::uint32_t rank, Stream s) {
    end_op(rank, head(rank, s));
    StreamState& stream = stream_of(rank, s);
    stream.running = false;
    ++stream.next;
    RankState& r = ranks_[rank];
    // Timed compute begins when what it waited for has ended, however late the thread wakes up.
    const bool sleeps = wake_ > 0 && !system_.timed_compute;
    start_streams(rank, 0);
    if (!r.waiting || !r.ready(r.issued)) return;
    if (!sleeps) return advance(rank);
    r.waiting = false, r.resuming = true;
    machine_.after(wake_, rank, EventKind::kResumed, 0);
  }

  const Plan& plan_;
  const HostSystem& system_;
  EventMachine machine_;
  Messages messages_;
  Dependencies deps_;
  std::vector<HostProgram> programs_;  // per stage
  SimTime wake_;
  std::size_t ops_ = 0;              // of all blocks
  std::vector<SimTime> work_;        // [rank][op of a block]; of compute and copies
  std::vector<Exchange> exchanges_;  // [rank][op of a block]
  std::vector<RankState> ranks_;
  Timeline out_;
};

}  // namespace

Timeline simulate_hosts(const Plan& plan, const HostSystem& system, const WorkOf& work,
                        const std::vector<std::int64_t>& placement) {
  return EventEngine(plan, system, work, placement).run();
}

WorkOf work_of(const Plan& plan, const Cluster& cluster, const CostModel& costs,
               const std::vector<std::int64_t>& placement) {
  const Sites sites = locate(plan, cluster, devices_of_places(plan, placement));
  return [&plan, &cluster, &costs, sites](const Op& op, std::int64_t rank) {
    const std::int64_t place = first_place_of(plan, rank), places = plan.places_per_stage();
    const std::int64_t stage = place / places, position = place % places;
    if (!runs_on(plan, op, role_of(plan, rank))) return Seconds();
    const NodeKind& node = cluster.kind(sites.kind.at(stage, position));
    if (const Copy* copy = std::get_if<Copy>(&op.body)) return costs.copy(*copy, node).total();
    return costs.compute(std::get<Compute>(op.body), node.device).total() *
           sites.factors[sites.factor.at(stage, position)];
  };
}

}  // namespace plait
