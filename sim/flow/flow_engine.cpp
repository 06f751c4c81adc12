#include "sim/flow/flow_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "sim/flow/contention_log.h"
#include "sim/flow/flow_program.h"
#include "sim/flow/meetings.h"
#include "sim/flow/paced_compute.h"
#include "sim/network/flow_network.h"
#include "sim/tracks.h"

namespace plait {
namespace {

constexpr std::uint8_t kNowhere = 0xFF, kHost = 0xFE;
constexpr std::uint32_t kNobody = 0xFFFFFFFF;
constexpr std::int64_t kBetweenWords = 1 << 14;  // ops begun from one word to the watch to the next
constexpr auto kComputeStream = static_cast<std::uint8_t>(Stream::kCompute);

/// A stream of a rank class: its first op that has not ended runs, or waits.
struct Queue {
  std::uint32_t ended = 0;
  bool running = false;
  std::uint8_t waits_for = kNowhere;  // a stream of the same class, or its host
};

/// The host of a rank class, in a run without waiting for the device.
struct HostRun {
  std::uint32_t run = 0, ended = 0;  // ops that have ended, of all runs
  SimTime begin = 0;
};

/// A rank class, stage * lanes + lane, and one of its streams.
struct Place {
  std::uint32_t cls = kNobody;
  std::uint8_t stream = 0;
};

/// A message between stages, on one lane.
struct Message {
  bool arrived = false;
  SimTime arrival = 0, duration = 0;
  Place receiver;  // once it waits
};

/// Something on its way through the network.
struct FlowTransfer {
  const TransferDemand* demand = nullptr;
  Place from;  // the sender, a member, or who runs the kernel
  SimTime begin = 0;
  std::uint32_t meeting = kNoMeeting;  // of a collective
};

enum class FlowDue : std::uint8_t { kIssued, kComputed, kEnded, kFlows };

struct FlowEvent {
  FlowDue due = FlowDue::kEnded;
  std::uint8_t stream = 0;
  std::uint32_t id = 0;       // rank class, or of kFlows and kEnded transfers
  std::uint32_t version = 0;  // of kComputed
};

class FlowEngine {
 public:
  FlowEngine(const Plan& plan, const Dependencies& deps, const FlowMachine& machine, bool record)
      : machine_(machine),
        lanes_(machine.loads.lanes()),
        width_(static_cast<std::uint32_t>(lanes_.count())),
        network_(capacities(machine.loads)),
        meetings_(plan, lanes_) {
    PLAIT_CHECK(machine.kinds.size() <= kFlowLabels, "more kinds of flows than labels");
    network_.record(&held_up_);
    for (std::size_t s = 0; s < plan.programs.size(); ++s) {
      programs_.emplace_back(plan, deps, machine.durations, s);
    }
    const std::size_t classes = programs_.size() * width_;
    queues_.resize(classes * kStreams);
    hosts_.resize(classes);
    for (std::uint32_t c = 0; c < classes; ++c) {
      const std::int64_t position = lanes_.representative[lane_of(c)];
      const auto stage = static_cast<std::int64_t>(stage_of(c));
      compute_.emplace_back(machine.sms[machine.sites.kind.at(stage, position)]);
    }
    messages_.resize(std::size_t{deps.messages} * width_);
    if (record) out_.tracks = empty_tracks(plan, lanes_);
    recorded_ = out_.tracks.size() / programs_.size();
  }

  FlowRun run(const Watch& watch) {
    const std::int64_t all = ops_to_walk();
    std::int64_t told = 0;
    for (std::uint32_t c = 0; c < compute_.size(); ++c) {
      for (std::uint8_t q = 0; q < kStreams; ++q) todo_.push_back({c, q});
    }
    for (;;) {
      begin_all();
      if (watch && out_.ops_walked - told >= kBetweenWords) watch(told = out_.ops_walked, all);
      pace_compute();
      const SimTime t = std::min(next_event(), network_.next());
      if (t == RadixHeap<FlowEvent>::kEmpty) break;
      // Messages that share links take longer than require_countable() knows.
      if (t > kLongestTime || t < now_) refuse_time("one step", to_seconds(kLongestTime));
      now_ = t;
      end_all();
    }
    check_finished();
    out_.step_time = now_;
    out_.contention =
        log_.summary(machine_.kinds, machine_.sites, machine_.loads, machine_.network);
    return std::move(out_);
  }

 private:
  static std::vector<FlowRate> capacities(const LinkLoads& loads) {
    std::vector<FlowRate> out;
    for (const LinkClassLoad& l : loads.links()) out.push_back(l.capacity);
    return out;
  }

  std::int64_t ops_to_walk() const {
    std::int64_t ops = 0;
    for (const FlowProgram& p : programs_) {
      for (std::uint8_t s = 0; s < kStreams; ++s) ops += std::ssize(p.on_stream(s));
    }
    return ops * width_;
  }

  // ---- rank classes
  std::size_t stage_of(std::uint32_t cls) const { return cls / width_; }
  std::uint32_t lane_of(std::uint32_t cls) const { return cls % width_; }
  Queue& queue(Place at) { return queues_[at.cls * kStreams + at.stream]; }
  const std::vector<FlowOp>& ops(Place at) const {
    return programs_[stage_of(at.cls)].on_stream(at.stream);
  }
  /// The first op of the stream that has not ended.
  const FlowOp& head(Place at) { return ops(at)[queue(at).ended]; }
  SimTime duration(std::uint32_t cls, const FlowOp& op) const {
    return machine_.durations.row(stage_of(cls), op.id).at(lane_of(cls));
  }
  const TransferDemand& demand(std::uint32_t cls, const FlowOp& op) const {
    return machine_.transfers.at(stage_of(cls), lane_of(cls), op.id);
  }
  Message& message(std::uint32_t cls, const FlowOp& op) {
    return messages_[std::size_t{op.message} * width_ + lane_of(cls)];
  }

  // ---- what begins
  void begin_all() {
    while (!todo_.empty()) {
      const Place at = todo_.back();
      todo_.pop_back();
      Queue& q = queue(at);
      if (q.running || q.ended == ops(at).size()) continue;
      const FlowOp& op = head(at);
      q.waits_for = missing(at.cls, op);
      if (q.waits_for != kNowhere) continue;
      if (!issued(at, op)) continue;
      q.running = true;
      ++out_.ops_walked;
      begin(at, op);
    }
  }
  /// Where not, the queue is looked at again when it is.
  bool issued(Place at, const FlowOp& op) {
    const HostRun& host = hosts_[at.cls];
    if (op.run > host.run) {
      queue(at).waits_for = kHost;
      return false;
    }
    if (op.run < host.run) return true;  // before the host's last wait
    const SimTime time = host.begin + op.issued;
    if (time > now_) events_.push(time, {FlowDue::kIssued, at.stream, at.cls, 0});
    return time <= now_;
  }
  /// The stream that the op waits for, or kNowhere.
  std::uint8_t missing(std::uint32_t cls, const FlowOp& op) {
    for (const StreamNeed& n : programs_[stage_of(cls)].needs(op)) {
      if (queue({cls, n.stream}).ended < n.ended) return n.stream;
    }
    return kNowhere;
  }
  void begin(Place at, const FlowOp& op) {
    record(at, op, &Track::start, now_);
    if (const Collective* c = std::get_if<Collective>(&op.op->body)) {
      const std::uint32_t m = meetings_.join(*c, stage_of(at.cls), lane_of(at.cls), at.stream);
      if (meetings_.complete(m)) start_collective(at, op, m);
    } else if (std::holds_alternative<Recv>(op.op->body)) {
      Message& m = message(at.cls, op);
      m.receiver = at;
      if (m.arrived) receive(m);
    } else if (std::holds_alternative<Send>(op.op->body) ||
               demand(at.cls, op).flow != nullptr) {  // a kernel, from shared memory
      start_transfer({&demand(at.cls, op), at, now_, kNoMeeting});
    } else if (at.stream == kComputeStream) {
      compute_[at.cls].start(now_, duration(at.cls, op));
      repaced_.push_back(at.cls);
    } else {
      events_.push(now_ + duration(at.cls, op), {FlowDue::kEnded, at.stream, at.cls, 0});
    }
  }
  void start_collective(Place at, const FlowOp& op, std::uint32_t meeting) {
    const TransferDemand& d = demand(at.cls, op);
    for (const std::uint32_t cls : meetings_.members(meeting)) {
      record({cls, at.stream}, head({cls, at.stream}), &Track::start, now_);
      hold(cls, d.sms);
    }
    start_transfer({&d, at, now_, meeting});
  }
  void start_transfer(const FlowTransfer& t) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<std::uint32_t>(transfers_.size()));
      transfers_.emplace_back();
    }
    const std::uint32_t id = unused_.back();
    unused_.pop_back();
    transfers_[id] = t;
    events_.push(now_ + t.demand->start_up, {FlowDue::kFlows, 0, id, 0});
  }
  void hold(std::uint32_t cls, int sms) {
    compute_[cls].hold(sms);
    repaced_.push_back(cls);
  }
  void pace_compute() {
    for (const std::uint32_t cls : repaced_) {
      PacedCompute& c = compute_[cls];
      const SimTime before = c.end();
      if (!c.settle(now_)) continue;
      events_.forget(before);
      events_.push(c.end(), {FlowDue::kComputed, kComputeStream, cls, c.version()});
    }
    repaced_.clear();
  }

  // ---- what ends
  bool live(const FlowEvent& e) const {
    return e.due != FlowDue::kComputed || compute_[e.id].version() == e.version;
  }
  SimTime next_event() {
    return events_.earliest([this](const FlowEvent& e) { return live(e); });
  }
  void end_all() {
    events_.advance(now_, [this](const FlowEvent& e) { return live(e); });
    if (next_event() == now_) {
      due_.clear();
      events_.take_earliest(due_);
      for (const FlowEvent& e : due_) {
        if (live(e)) end(e);
      }
    }
    if (network_.next() > now_) return;
    flowed_.clear();
    network_.advance(now_, flowed_);
    for (const HoldUp& h : held_up_) log_.add(h, transfers_[h.owner].demand->flow->multiplicity);
    held_up_.clear();
    for (const std::uint32_t id : flowed_) end_transfer(id);
  }
  void end(const FlowEvent& e) {
    if (e.due == FlowDue::kIssued) return todo_.push_back({e.id, e.stream});
    if (e.due == FlowDue::kFlows) {
      const TransferDemand& d = *transfers_[e.id].demand;
      if (d.rate == 0) return end_transfer(e.id);
      network_.start(now_, e.id, d.flow->uses, d.rate, d.flowing, static_cast<FlowLabel>(d.kind));
      return;
    }
    if (e.due == FlowDue::kComputed) compute_[e.id].stop();
    complete({e.id, e.stream});
  }
  void end_transfer(std::uint32_t id) {
    const FlowTransfer t = transfers_[id];
    unused_.push_back(id);
    if (t.meeting != kNoMeeting) {
      meetings_.part(t.meeting);
      for (const std::uint32_t cls : meetings_.members(t.meeting)) {
        hold(cls, -t.demand->sms);
        complete({cls, t.from.stream});
      }
      return;
    }
    if (!std::holds_alternative<Send>(head(t.from).op->body)) return complete(t.from);
    Message& m = message(t.from.cls, head(t.from));
    m.arrived = true;
    m.arrival = now_;
    m.duration = now_ - t.begin;
    complete(t.from);
    if (m.receiver.cls != kNobody) receive(m);
  }
  /// The receive's span shows the transfer, not the wait for its sender.
  void receive(const Message& m) {
    const Place at = m.receiver;
    const FlowOp& op = head(at);
    if (lane_of(at.cls) < recorded_) {
      SimTime& start = track(at.cls).start[op.flat];
      start = std::max(start, m.arrival - m.duration);
    }
    complete(at);
  }
  void complete(Place at) {
    record(at, head(at), &Track::end, now_);
    Queue& q = queue(at);
    q.running = false;
    ++q.ended;
    todo_.push_back(at);
    wake(at.cls, at.stream);
    HostRun& host = hosts_[at.cls];
    ++host.ended;
    const HostRunEnd& end = programs_[stage_of(at.cls)].run_end(host.run);
    const bool over = end.need.ended > 0 ? queue({at.cls, end.need.stream}).ended >= end.need.ended
                                         : host.ended >= end.ops;
    if (!over) return;
    ++host.run;
    host.begin = now_;
    wake(at.cls, kHost);
  }
  void wake(std::uint32_t cls, std::uint8_t waiting_for) {
    for (std::uint8_t s = 0; s < kStreams; ++s) {
      if (queue({cls, s}).waits_for == waiting_for) todo_.push_back({cls, s});
    }
  }

  // ---- results
  Track& track(std::uint32_t cls) { return out_.tracks[stage_of(cls) * recorded_ + lane_of(cls)]; }
  void record(Place at, const FlowOp& op, Instants Track::*side, SimTime time) {
    if (lane_of(at.cls) < recorded_) (track(at.cls).*side)[op.flat] = time;
  }
  void check_finished() {
    std::string what;
    for (std::uint32_t cls = 0; cls < compute_.size(); ++cls) {
      for (std::uint8_t s = 0; s < kStreams; ++s) {
        if (queue({cls, s}).ended == ops({cls, s}).size()) continue;
        const FlowOp& op = head({cls, s});
        what += fmt::format("\n  stage {} waits at {} (op {} on the {} stream)", stage_of(cls),
                            name_of(*op.op), op.flat, name_of(static_cast<Stream>(s)));
        break;
      }
    }
    if (!what.empty()) throw InternalError("the plan cannot make progress:" + what);
  }

  const FlowMachine& machine_;
  const Lanes& lanes_;
  std::uint32_t width_;
  std::vector<FlowProgram> programs_;    // per stage
  std::vector<Queue> queues_;            // [class][stream]
  std::vector<PacedCompute> compute_;    // per class
  std::vector<HostRun> hosts_;           // per class
  std::vector<Message> messages_;        // [message][lane]
  std::vector<FlowTransfer> transfers_;  // by id
  std::vector<std::uint32_t> unused_;    // ids
  FlowNetwork network_;
  Meetings meetings_;
  RadixHeap<FlowEvent> events_;
  std::vector<HoldUp> held_up_;
  ContentionLog log_;
  SimTime now_ = 0;
  std::vector<Place> todo_;             // queues whose next op may begin
  std::vector<std::uint32_t> repaced_;  // classes whose kernel begins, or may get another pace
  std::vector<FlowEvent> due_;
  std::vector<std::uint32_t> flowed_;
  std::size_t recorded_ = 0;
  FlowRun out_;
};

}  // namespace

FlowRun run_flows(const Plan& plan, const Dependencies& deps, const FlowMachine& machine,
                  bool record, const Watch& watch) {
  return FlowEngine(plan, deps, machine, record).run(watch);
}

}  // namespace plait
