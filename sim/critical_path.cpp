#include "sim/critical_path.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace plait {
namespace {

class PathWalk {
 public:
  PathWalk(const RecordedStep& step, const FurtherPeriods& further)
      : step_(step), further_(further), deps_(*step.simulation().dependencies) {
    for (std::size_t s = 0; s < step.plan().programs.size(); ++s) index_messages(s);
  }

  CriticalPath run() const {
    const auto [host, bubble, idle] = step_.waits();
    std::vector<SimTime> sum(step_.labels(), 0);
    std::array<Seconds, kResources> resources = {};
    PlaceInTrack at = latest();
    SimTime now = step_.step_time();
    std::int64_t left = further_.count;  // periods that the place stands behind
    while (now > 0) {
      enter_further(at, now, left);
      at = binding_member(at);
      enter_further(at, now, left);
      const std::size_t s = step_.stage_of(at.track);
      const Track& track = step_.tracks()[at.track];
      if (track.end[at.flat] != now) break;  // waited for a rank that is not recorded
      const SimTime d = now - track.start[at.flat];
      sum[step_.label(s, at.flat)] += d;
      spend(at, d, resources);
      now -= d;
      std::uint32_t cause = step_.cause(at.track, at.flat);
      const bool follows = cause != kNoCause && track.end[cause] == now;
      if (!follows && step_.waited_for_host(at.track, at.flat, now)) {
        if (busy_through(at)) now += std::exchange(left, 0) * further_.time;
        const SimTime since = step_.busy_since(at.track, at.flat);
        sum[host] += now - since;
        resources[kHostIssue] += to_seconds(now - since);
        now = since;
        cause = step_.host_after(at.track, at.flat);
      }
      if (now > 0 && cause == kNoCause) break;
      at.flat = cause;
    }
    sum[idle] += now + left * further_.time;
    return {shares_of(sum), sensitivity_to(resources)};
  }

 private:
  std::vector<Share> shares_of(const std::vector<SimTime>& sum) const {
    std::vector<Seconds> time;
    for (const SimTime t : sum) time.push_back(to_seconds(t));
    return step_.shares(time);
  }
  static std::vector<Sensitivity> sensitivity_to(const std::array<Seconds, kResources>& resources) {
    std::vector<Sensitivity> out;
    for (int r = 0; r < kResources; ++r) {
      const Seconds time = resources[static_cast<std::size_t>(r)];
      if (time.value > 0)
        out.push_back({std::string(resource_name(static_cast<Resource>(r))), time});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const Sensitivity& a, const Sensitivity& b) { return a.time > b.time; });
    return out;
  }
  /// What comes before the last period that the timeline has is, with `left` periods to go, in one
  /// of these.
  void enter_further(PlaceInTrack& at, SimTime& now, std::int64_t& left) const {
    if (left == 0) return;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at.track)];
    for (; left > 0 && at.flat < last.first; --left) {
      at.flat += last.count(), now += further_.time;
    }
  }
  /// Whether the host has waited for nothing in a whole period when it issues the op.
  bool busy_through(const PlaceInTrack& at) const {
    if (further_.count == 0) return false;
    const FurtherPeriods::Ops last = further_.last[step_.stage_of(at.track)];
    const std::uint32_t after = step_.host_after(at.track, at.flat);
    return after == kNoCause || (after < last.first && at.flat - after > last.count());
  }
  PlaceInTrack latest() const {
    for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
      for (std::uint32_t i = 0; i < step_.tracks()[t].end.size(); ++i) {
        if (step_.tracks()[t].end[i] == step_.step_time()) return {t, i};
      }
    }
    return {0, 0};
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
  PlaceInTrack last_member(PlaceInTrack at, const Collective& c, SimTime start) const {
    const std::size_t s = step_.stage_of(at.track), lane = step_.lane_of(at.track);
    const std::size_t per_stage = step_.tracks_per_stage();
    const Grouping& g = step_.simulation().lanes->groupings[step_.simulation().lanes->grouping(c)];
    const bool across = c.axes.has(Axis::kPp);
    const auto k = across ? occurrence(s, at.flat, c.stages) : 0;
    for (std::size_t t = 0; t < step_.tracks().size(); ++t) {
      const std::size_t other = t / per_stage;
      if (g.group_of[t % per_stage] != g.group_of[lane] || (!across && other != s)) continue;
      if (across && meeting(c, other) != meeting(c, s)) continue;
      const std::uint32_t flat = across ? nth(other, k, c.stages) : at.flat;
      if (flat == kNoCause) continue;
      const std::uint32_t cause = step_.cause(t, flat);
      if (cause != kNoCause && step_.tracks()[t].end[cause] == start) return {t, flat};
      if (step_.waited_for_host(t, flat, start)) return {t, flat};
    }
    return at;
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
  /// Splits time on the path by the hardware it is spent on. What a kernel takes longer than alone
  /// is its collective's: it grows with the time for which that holds multiprocessors.
  void spend(const PlaceInTrack& at, SimTime d, std::array<Seconds, kResources>& resources) const {
    const std::size_t s = step_.stage_of(at.track);
    const std::uint32_t slowed_by = step_.slowed_by(at.track, at.flat);
    SimTime own = d;
    if (slowed_by != kNoCause) {
      own = std::min(d, step_.simulation()
                            .durations->row(s, step_.op_id(s, at.flat))
                            .at(step_.lane_of(at.track)));
      share_out({at.track, slowed_by}, d - own, resources);
    }
    share_out(at, own, resources);
  }
  void share_out(const PlaceInTrack& at, SimTime d,
                 std::array<Seconds, kResources>& resources) const {
    const std::size_t s = step_.stage_of(at.track);
    const Cost& cost =
        step_.simulation().durations->cost(s, step_.lane_of(at.track), step_.op_id(s, at.flat));
    const double total = cost.total().value;
    if (total <= 0) return;
    const double scale = to_seconds(d).value / total;
    for (std::size_t r = 0; r < resources.size(); ++r) resources[r] += cost.share[r] * scale;
  }
  void index_messages(std::size_t s) {
    sender_.resize(deps_.messages, {0, kNoCause});
    across_.emplace_back();
    for (std::uint32_t flat = 0; flat < step_.ops(s); ++flat) {
      const Op& o = step_.op(s, flat);
      if (std::holds_alternative<Send>(o.body)) {
        sender_[deps_.programs[s].message[step_.call(s, flat)]] = {s, flat};
      }
      const Collective* c = std::get_if<Collective>(&o.body);
      if (c != nullptr && c->axes.has(Axis::kPp)) across_[s].push_back(flat);
    }
  }

  const RecordedStep& step_;
  const FurtherPeriods& further_;
  const Dependencies& deps_;
  std::vector<PlaceInTrack> sender_;                // per message: stage and flat op of its Send
  std::vector<std::vector<std::uint32_t>> across_;  // per stage: collectives across stages
};

}  // namespace

CriticalPath critical_path(const RecordedStep& step, const FurtherPeriods& further) {
  return PathWalk(step, further).run();
}

}  // namespace plait
