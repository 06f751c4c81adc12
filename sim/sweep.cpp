#include "sim/sweep.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"
#include "sim/block_profile.h"
#include "sim/holdings.h"
#include "sim/lane_clocks.h"
#include "sim/tracks.h"

namespace plait {
namespace {

/// Beyond so many, to walk all lanes side by side takes less than to profile each block on each.
constexpr std::size_t kMostProfiledLanes = 16;

/// What the walk needs of an op, without a look at the plan.
struct FlatOp {
  enum class Kind : std::uint8_t { kLocal, kMeet, kMeetAcrossStages, kSend, kRecv };
  Kind kind = Kind::kLocal;
  std::uint8_t stream = 0;
  bool behind = false;
  bool end_needed = false;               // a later op of the block waits for it
  bool kernel = false;                   // collectives slow it down
  HostWait host_waits = HostWait::kNot;  // behind it
  Stages stages = Stages::kAll;
  std::uint32_t grouping = 0;
  std::uint32_t before = 0, befores = 0;  // what of the block it waits for: [before, + befores)
  SimTime issue = 0;                      // what the host needs
};

/// A collective across stages that is gathering its members.
struct Rendezvous {
  std::vector<SimTime> latest;  // per lane
  std::size_t arrived = 0;
};

struct StageState {
  StageState(const Durations& durations, std::size_t stage, std::size_t lanes)
      : held(durations, stage, lanes) {}
  std::uint32_t call = 0, flat = 0;        // the next call; flat index of its first op
  std::uint16_t op = 0;                    // where the walk stands within it
  std::uint32_t wait = 0, signal = 0;      // the next ones of its program
  bool joined = false;                     // waits in a rendezvous
  std::array<std::size_t, 3> met = {};     // rendezvous so far, by Stages
  std::vector<SimTime> clock, event, end;  // [stream], [cell], [op of the block] x [lane]
  std::vector<SimTime> issued;             // [lane]: the host's clock
  StageHoldings held;                      // by collectives that may go on
  const std::vector<BlockProfile>* profiles = nullptr;  // by block, when lanes are few
};

class Sweeper {
 public:
  Sweeper(const Plan& plan, const Dependencies& deps, const Lanes& lanes,
          const Durations& durations, bool record)
      : plan_(plan),
        deps_(deps),
        lanes_(lanes),
        durations_(durations),
        record_(record),
        hosted_(durations.host_takes_time()),
        width_(lanes.count()),
        begin_(width_),
        scratch_(width_ + 1),
        arrival_(deps.messages, kNoMessage) {
    for (std::size_t s = 0; s < plan.programs.size(); ++s)
      state_.emplace_back(durations, s, width_);
    flatten();
    if (record) out_.tracks = empty_tracks(plan, lanes);
    recorded_ = out_.tracks.size() / state_.size();
    for (std::size_t s = 0; s < state_.size(); ++s) prepare(s);
  }

  Sweep run() {
    std::deque<std::size_t> todo;
    for (std::size_t s = 0; s < state_.size(); ++s) {
      if (!plan_.programs[s].calls.empty()) todo.push_back(s);
    }
    std::size_t idle = 0;  // stages in a row that could not move
    while (!todo.empty()) {
      const std::size_t s = todo.front();
      todo.pop_front();
      idle = walk(s) ? 0 : idle + 1;
      if (state_[s].call < plan_.programs[s].calls.size()) todo.push_back(s);
      if (idle > todo.size()) blocked();
    }
    for (const StageState& st : state_) {
      for (SimTime t : st.clock) out_.step_time = std::max(out_.step_time, t);
    }
    return std::move(out_);
  }

 private:
  void flatten() {
    for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
      const std::size_t first = ops_.size();
      const BlockDependencies& within = deps_.blocks[b];
      for (std::size_t i = 0; i < plan_.blocks[b].ops.size(); ++i) {
        FlatOp& op = ops_.emplace_back(flat(plan_.blocks[b].ops[i]));
        op.host_waits = durations_.host_wait_after(first + i);
        op.kernel = durations_.kernel(first + i);
        op.issue = durations_.issue(first + i);
        op.before = static_cast<std::uint32_t>(before_.size() + within.first[i]);
        op.befores = within.first[i + 1] - within.first[i];
      }
      before_.insert(before_.end(), within.before.begin(), within.before.end());
      for (std::uint16_t i : within.before) ops_[first + i].end_needed = true;
      longest_ = std::max(longest_, plan_.blocks[b].ops.size());
    }
  }
  FlatOp flat(const Op& op) const {
    FlatOp f;
    f.stream = static_cast<std::uint8_t>(op.stream);
    f.behind = behind_compute(op.stream);
    if (const Collective* c = std::get_if<Collective>(&op.body)) {
      f.kind = c->axes.has(Axis::kPp) ? FlatOp::Kind::kMeetAcrossStages : FlatOp::Kind::kMeet;
      f.stages = c->stages;
      f.grouping = static_cast<std::uint32_t>(lanes_.grouping(*c));
    }
    if (std::holds_alternative<Send>(op.body)) f.kind = FlatOp::Kind::kSend;
    if (std::holds_alternative<Recv>(op.body)) f.kind = FlatOp::Kind::kRecv;
    return f;
  }
  void prepare(std::size_t s) {
    StageState& st = state_[s];
    st.clock.assign(kStreams * width_, 0);
    st.event.assign(deps_.programs[s].events * width_, 0);
    st.end.assign(longest_ * width_, 0);
    st.issued.assign(width_, 0);
    if (width_ > kMostProfiledLanes) return;
    if (s == 0 || !durations_.same(s, s - 1)) {
      profiles_.emplace_back();
      for (std::size_t b = 0; b < plan_.blocks.size(); ++b) {
        profiles_.back().push_back(
            profile(plan_, deps_, lanes_, durations_, s, static_cast<BlockId>(b)));
      }
    }
    st.profiles = &profiles_.back();
  }

  /// Runs the stage as far as it goes. True if it moved.
  bool walk(std::size_t s) {
    StageState& st = state_[s];
    const std::vector<Call>& calls = plan_.programs[s].calls;
    bool moved = false;
    while (st.call < calls.size()) {
      const Call& call = calls[st.call];
      const std::size_t n = plan_.blocks[call.block].ops.size();
      if (st.op == 0 && st.profiles != nullptr && run_shifted(s, call)) {
        st.op = static_cast<std::uint16_t>(n);
      }
      for (; st.op < n; ++st.op, moved = true) {
        if (!run_op(s, call, st.op)) return moved;
      }
      moved = true;
      out_.ops_walked += static_cast<std::int64_t>(n * width_);
      ++st.call, st.op = 0, st.flat += static_cast<std::uint32_t>(n);
    }
    return moved;
  }

  /// The whole block at once, if nothing outside disturbs it on any lane.
  bool run_shifted(std::size_t s, const Call& call) {
    StageState& st = state_[s];
    const BlockProfile& p = (*st.profiles)[call.block];
    if (!p.shiftable) return false;
    for (std::size_t l = 0; l < width_; ++l) {
      const std::optional<SimTime> start = undisturbed_start(s, p, l);
      if (!start) return false;
      begin_[l] = *start;
    }
    // A block of collectives alone may begin behind kernels that are still to come.
    const SimTime* kernels = &st.clock[kComputeClock * width_];
    st.held.forget(*std::min_element(kernels, kernels + width_));
    for (const std::uint16_t i : p.outlasting) {
      for (std::size_t l = 0; l < width_; ++l) scratch_[l] = begin_[l] + p.lanes[l].start[i];
      const std::size_t id = durations_.op_id(call.block, i);
      st.held.begin(id, ops_[id].stream, scratch_.data(), durations_.row(s, id));
    }
    for (std::size_t l = 0; l < width_; ++l) shift(s, p, l, begin_[l]);
    const ProgramDependencies& d = deps_.programs[s];
    st.wait = d.wait_first[st.call + 1], st.signal = d.signal_first[st.call + 1];
    return true;
  }
  /// When it starts on a lane where its ops wait for nothing else.
  std::optional<SimTime> undisturbed_start(std::size_t s, const BlockProfile& p,
                                           std::size_t lane) const {
    const StageState& st = state_[s];
    const LaneProfile& own = p.lanes[lane];
    const ProgramDependencies& d = deps_.programs[s];
    const std::span waits = std::span(d.waits).subspan(
        d.wait_first[st.call], d.wait_first[st.call + 1] - d.wait_first[st.call]);
    const auto clock = [&](std::size_t stream) { return st.clock[stream * width_ + lane]; };
    const auto event = [&](const EventUse& w) { return st.event[w.event * width_ + lane]; };
    SimTime start = clock(kComputeClock);
    if (p.one_root) {
      for (const EventUse& w : waits) {
        if (w.op == 0) start = std::max(start, event(w));
      }
    }
    if (st.issued[lane] + own.lead > start || st.held.until() > start) return std::nullopt;
    for (const EventUse& w : waits) {
      if (event(w) > start + own.start[w.op]) return std::nullopt;
    }
    for (const std::uint8_t k : p.streams) {
      if (clock(k) > start) return std::nullopt;
    }
    return start;
  }
  void shift(std::size_t s, const BlockProfile& p, std::size_t lane, SimTime start) {
    StageState& st = state_[s];
    const LaneProfile& own = p.lanes[lane];
    const ProgramDependencies& d = deps_.programs[s];
    st.issued[lane] += p.issue;
    for (const std::uint8_t k : p.streams) st.clock[k * width_ + lane] = start + own.clock[k];
    for (std::uint32_t g = d.signal_first[st.call]; g < d.signal_first[st.call + 1]; ++g) {
      st.event[d.signals[g].event * width_ + lane] = start + own.end[d.signals[g].op];
    }
    if (lane >= recorded_) return;
    Track& track = out_.tracks[s * recorded_ + lane];
    for (std::size_t i = 0; i < own.start.size(); ++i) {
      track.start[st.flat + i] = start + own.start[i];
      track.end[st.flat + i] = start + own.end[i];
    }
  }

  /// One op on all lanes. False if it is blocked.
  bool run_op(std::size_t s, const Call& call, std::size_t i) {
    StageState& st = state_[s];
    const std::size_t id = durations_.op_id(call.block, i);
    const FlatOp& op = ops_[id];
    SimTime* clock = &st.clock[op.stream * width_];
    if (op.kind == FlatOp::Kind::kRecv &&
        arrival_[deps_.programs[s].message[st.call]] == kNoMessage) {
      return false;
    }
    if (!st.joined) gather_ready(s, i, op, clock);
    const DurationRow row = durations_.row(s, id);
    switch (op.kind) {
      case FlatOp::Kind::kLocal: break;
      case FlatOp::Kind::kMeet:
        meet(clock, lanes_.groupings[op.grouping], width_, scratch_.data());
        st.held.begin(id, op.stream, clock, row);
        break;
      case FlatOp::Kind::kMeetAcrossStages:
        if (!meet_across_stages(s, op, clock)) return false;
        break;
      case FlatOp::Kind::kSend:
      case FlatOp::Kind::kRecv: break;
    }
    if (op.kind == FlatOp::Kind::kRecv) {
      receive(s, clock, row, st.flat + i);
    } else {
      if (record_) record(s, st.flat + i, clock, true);
      op.kernel ? st.held.advance(clock, row) : advance(clock, row, width_);
      if (op.kind == FlatOp::Kind::kSend) deliver(deps_.programs[s].message[st.call], clock);
    }
    const bool message = op.kind == FlatOp::Kind::kSend || op.kind == FlatOp::Kind::kRecv;
    if (message && !lanes_.shared.empty()) meet(clock, lanes_.shared[s], width_, scratch_.data());
    if (record_) record(s, st.flat + i, clock, false);
    publish(s, i, op, clock);
    if (op.host_waits != HostWait::kNot) let_host_wait(st, op);
    return true;
  }

  /// The host goes on when the op, or all that it has issued, has ended.
  void let_host_wait(StageState& st, const FlatOp& op) {
    for (std::size_t k = 0; k < kStreams; ++k) {
      if (op.host_waits == HostWait::kOp && k != op.stream) continue;
      raise(st.issued.data(), &st.clock[k * width_], width_);
    }
  }

  /// The op's stream clock becomes the time at which the op is ready.
  void gather_ready(std::size_t s, std::size_t of_block, const FlatOp& op, SimTime* clock) {
    StageState& st = state_[s];
    if (hosted_) {
      advance(st.issued.data(), {&op.issue, false}, width_);
      raise(clock, st.issued.data(), width_);
    }
    if (op.behind) raise(clock, &st.clock[kComputeClock * width_], width_);
    for (const std::uint16_t i : std::span(before_).subspan(op.before, op.befores)) {
      raise(clock, &st.end[i * width_], width_);
    }
    const ProgramDependencies& d = deps_.programs[s];
    for (; st.wait < d.wait_first[st.call + 1] && d.waits[st.wait].op == of_block; ++st.wait) {
      raise(clock, &st.event[d.waits[st.wait].event * width_], width_);
    }
  }
  void publish(std::size_t s, std::size_t i, const FlatOp& op, const SimTime* clock) {
    StageState& st = state_[s];
    if (op.end_needed) set(&st.end[i * width_], clock, width_);
    const ProgramDependencies& d = deps_.programs[s];
    for (; st.signal < d.signal_first[st.call + 1] && d.signals[st.signal].op == i; ++st.signal) {
      set(&st.event[d.signals[st.signal].event * width_], clock, width_);
    }
  }
  void record(std::size_t s, std::size_t flat, const SimTime* clock, bool begin) {
    for (std::size_t l = 0; l < recorded_; ++l) {
      Track& track = out_.tracks[s * recorded_ + l];
      (begin ? track.start : track.end)[flat] = clock[l];
    }
  }

  // ---- messages: buffers are reused once received
  void deliver(std::uint32_t message, const SimTime* clock) {
    if (free_buffers_.empty()) {
      free_buffers_.push_back(static_cast<std::uint32_t>(buffers_.size()));
      buffers_.emplace_back(width_);
    }
    arrival_[message] = free_buffers_.back();
    free_buffers_.pop_back();
    set(buffers_[arrival_[message]].data(), clock, width_);
  }
  void receive(std::size_t s, SimTime* clock, const DurationRow& row, std::size_t flat) {
    const std::uint32_t buffer = arrival_[deps_.programs[s].message[state_[s].call]];
    const std::vector<SimTime>& arrival = buffers_[buffer];
    if (record_) {  // the span shows the transfer, not the wait for its sender
      for (std::size_t l = 0; l < width_; ++l)
        begin_[l] = std::max(clock[l], arrival[l] - row.at(l));
      record(s, flat, begin_.data(), true);
    }
    raise(clock, arrival.data(), width_);
    free_buffers_.push_back(buffer);
    arrival_[deps_.programs[s].message[state_[s].call]] = kNoMessage;
  }

  // ---- collectives across stages
  bool meet_across_stages(std::size_t s, const FlatOp& op, SimTime* clock) {
    StageState& st = state_[s];
    const auto kind = static_cast<std::size_t>(op.stages);
    std::vector<Rendezvous>& list = rendezvous_[kind];
    const auto of = static_cast<std::int64_t>(state_.size());
    const std::size_t group =
        static_cast<std::size_t>(first_of_meeting(op.stages, static_cast<std::int64_t>(s), of));
    const std::size_t number = st.met[kind] * state_.size() + group;
    if (list.size() <= number) list.resize(number + 1);
    Rendezvous& r = list[number];
    if (!st.joined) {
      meet(clock, lanes_.groupings[op.grouping], width_, scratch_.data());
      if (r.latest.empty()) r.latest.assign(width_, 0);
      raise(r.latest.data(), clock, width_);
      ++r.arrived;
      st.joined = true;
    }
    if (r.arrived < static_cast<std::size_t>(stages_in_meeting(op.stages, of))) return false;
    set(clock, r.latest.data(), width_);
    st.joined = false;
    ++st.met[kind];
    return true;
  }

  [[noreturn]] void blocked() const {
    std::string what = "the plan cannot make progress:";
    for (std::size_t s = 0; s < state_.size(); ++s) {
      const StageState& st = state_[s];
      if (st.call >= plan_.programs[s].calls.size()) continue;
      const Call& call = plan_.programs[s].calls[st.call];
      const Op& op = plan_.blocks[call.block].ops[st.op];
      what += "\n  stage " + std::to_string(s) + " waits at " + plan_.blocks[call.block].name +
              ", " + std::string(name_of(op)) + " (layer " + std::to_string(call.layer) +
              ", microbatch " + std::to_string(call.microbatch) + ") for " +
              (st.joined ? "other stages to join" : "a message from its neighbour");
    }
    throw InternalError(what);
  }

  const Plan& plan_;
  const Dependencies& deps_;
  const Lanes& lanes_;
  const Durations& durations_;
  bool record_, hosted_;
  std::size_t width_, longest_ = 0, recorded_ = 0;
  std::vector<FlatOp> ops_;
  std::vector<std::uint16_t> before_;               // of each op in turn: ops of its block
  std::deque<std::vector<BlockProfile>> profiles_;  // of runs of stages that take equally long
  std::vector<StageState> state_;
  std::vector<SimTime> begin_, scratch_;
  std::vector<std::uint32_t> arrival_;  // per message: its buffer, or kNoMessage
  std::vector<std::vector<SimTime>> buffers_;
  std::vector<std::uint32_t> free_buffers_;
  std::array<std::vector<Rendezvous>, 3> rendezvous_;
  Sweep out_;
};

}  // namespace

Sweep sweep(const Plan& plan, const Dependencies& deps, const Lanes& lanes,
            const Durations& durations, bool record) {
  return Sweeper(plan, deps, lanes, durations, record).run();
}

}  // namespace plait
