#include "sim/critical_path.h"

#include <map>
#include <utility>

#include "sim/ops_of_blocks.h"
#include "sim/time_on_path.h"

namespace plait {
namespace {

class PathWalk {
 public:
  PathWalk(const RecordedStep& step, const FurtherPeriods& further)
      : step_(step), further_(further), deps_(*step.simulation().dependencies) {
    for (std::size_t s = 0; s < step.plan().programs.size(); ++s) index_messages(s);
  }

  CriticalPath run() {
    while (now_ > 0) {
      enter_further(by_time_);
      at_ = binding_member(at_);
      enter_further(by_peer_);
      const Track& track = step_.tracks()[at_.track];
      go_back_to(track.end[at_.flat]);
      const SimTime since = track.start[at_.flat];
      times_.add(at_, now_ - since);
      now_ = since;
      go_back_to(step_.ready(at_.track, at_.flat));
      std::uint32_t cause = step_.cause(at_.track, at_.flat);
      const bool follows = cause != kNoCause && track.end[cause] == now_;
      if (!follows && step_.waited_for_host(at_.track, at_.flat, now_)) {
        if (busy_through(at_)) now_ += std::exchange(left_, 0) * further_.time;
        const SimTime busy_since = step_.busy_since(at_.track, at_.flat);
        times_.add_host(now_ - busy_since);
        now_ = busy_since;
        cause = step_.host_after(at_.track, at_.flat);
      }
      at_.flat = cause;
    }
    if (left_ > 0) times_.add_wait(left_ * further_.time);
    return {times_.shares(), times_.sensitivity()};
  }

 private:
  struct Entry {
    std::int64_t left = 0;
    std::size_t parts = 0;  // of the path until then
  };
  using Entries = std::map<PlaceInTrack, Entry>;

  /// What went on from then on is of a rank that is not recorded, which this one waited for.
  void go_back_to(SimTime then) {
    if (then < now_) times_.add_wait(now_ - then);
    now_ = std::min(now_, then);
  }
  /// What comes before the last period that the timeline has is, with `left_` periods to go, in one
  /// of these. What the path has done since it last came in here, it does again and again.
  void enter_further(Entries& before) {
    if (left_ == 0) return;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at_.track)];
    if (at_.flat >= last.first) return;
    for (; left_ > 0 && at_.flat < last.first; --left_) {
      at_.flat += last.count(), now_ += further_.time;
    }
    const auto [known, fresh] = before.try_emplace(at_, Entry{left_, times_.parts()});
    if (fresh) return;
    const std::int64_t periods = known->second.left - left_;
    times_.repeat_from(known->second.parts, left_ / periods);
    left_ %= periods;
  }
  /// Whether the host has waited for nothing in a whole period when it issues the op.
  bool busy_through(const PlaceInTrack& at) const {
    if (further_.count == 0) return false;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at.track)];
    const std::uint32_t after = step_.host_after(at.track, at.flat);
    return after == kNoCause || (after < last.first && at.flat - after > last.count());
  }
  /// Of what is recorded.
  PlaceInTrack latest() const {
    PlaceInTrack out{0, 0};
    SimTime end = 0;
    for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
      for (std::uint32_t i = 0; i < step_.tracks()[t].end.size(); ++i) {
        if (step_.tracks()[t].end[i] > end) out = {t, i}, end = step_.tracks()[t].end[i];
      }
    }
    return out;
  }
  /// Where the end of a receive or collective was decided: at its sender, at its last member.
  PlaceInTrack binding_member(PlaceInTrack at) const {
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
  bool of_one_rank(std::size_t stage, std::size_t a, std::size_t b) const {
    const std::vector<Grouping>& shared = step_.simulation().lanes->shared;
    return a == b || (!shared.empty() && shared[stage].group_of[a] == shared[stage].group_of[b]);
  }
  /// The first that was ready when the collective started; where none is recorded, the latest of
  /// those that are.
  PlaceInTrack last_member(PlaceInTrack at, const Collective& c, SimTime start) const {
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
  std::int64_t meeting(const Collective& c, std::size_t stage) const {
    return first_of_meeting(c.stages, static_cast<std::int64_t>(stage),
                            static_cast<std::int64_t>(step_.plan().programs.size()));
  }
  std::size_t occurrence(std::size_t stage, std::uint32_t flat, Stages which) const {
    std::size_t k = 0;
    for (std::uint32_t f : across_[stage]) {
      if (f == flat) return k;
      if (std::get<Collective>(step_.op(stage, f).body).stages == which) ++k;
    }
    return k;
  }
  std::uint32_t nth(std::size_t stage, std::size_t k, Stages which) const {
    for (std::uint32_t f : across_[stage]) {
      if (std::get<Collective>(step_.op(stage, f).body).stages == which && k-- == 0) return f;
    }
    return kNoCause;
  }
  void index_messages(std::size_t s) {
    sender_.resize(deps_.messages, {0, kNoCause});
    across_.emplace_back();
    for_each_op(step_.plan(), s, crossing_,
                [&](const Op& op, std::size_t call, std::uint32_t flat) {
                  if (std::holds_alternative<Send>(op.body)) {
                    sender_[deps_.programs[s].message[call]] = {s, flat};
                  } else {
                    across_[s].push_back(flat);
                  }
                });
  }
  /// Sends, and collectives across stages.
  static OpsOfBlocks crossing_ops(const Plan& plan) {
    return ops_of_blocks(plan, [&plan](BlockId block, std::uint16_t i) {
      const Op& op = plan.blocks[block].ops[i];
      const Collective* c = std::get_if<Collective>(&op.body);
      return std::holds_alternative<Send>(op.body) || (c != nullptr && c->axes.has(Axis::kPp));
    });
  }

  const RecordedStep& step_;
  const FurtherPeriods& further_;
  const Dependencies& deps_;
  // The path so far, from its end.
  PlaceInTrack at_ = latest();
  SimTime now_ = step_.step_time();
  std::int64_t left_ = further_.count;  // periods that the place stands behind
  TimeOnPath times_{step_};
  Entries by_time_, by_peer_;  // to further periods: behind an op, or at who decided its end
  OpsOfBlocks crossing_ = crossing_ops(step_.plan());
  std::vector<PlaceInTrack> sender_;                // per message: stage and flat op of its Send
  std::vector<std::vector<std::uint32_t>> across_;  // per stage: collectives across stages
};

}  // namespace

CriticalPath critical_path(const RecordedStep& step, const FurtherPeriods& further) {
  return PathWalk(step, further).run();
}

}  // namespace plait
