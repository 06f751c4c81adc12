#include "sim/explain.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "core/error.h"
#include "sim/causes.h"
#include "sim/slowed.h"

namespace plait {
namespace {

using Label = std::pair<std::string, std::string>;  // group, name

std::string axes_of(const Op& op) {
  if (const Collective* c = std::get_if<Collective>(&op.body)) return name_of(c->axes);
  if (const Send* s = std::get_if<Send>(&op.body)) return std::string(name_of(s->axis));
  if (const Recv* r = std::get_if<Recv>(&op.body)) return std::string(name_of(r->axis));
  return "";
}

Label label_of(const Op& op) {
  if (op.phase == Phase::kOptimizer) return {"optimizer", std::string(name_of(op))};
  if (std::holds_alternative<Copy>(op.body) && op.stream != Stream::kCompute) {
    return {"offload", std::string(name_of(op.stream))};
  }
  const std::string axes = axes_of(op);
  if (!axes.empty()) return {"exposed_communication", axes};
  return {op.phase == Phase::kRecompute ? "recompute" : "compute", std::string(name_of(op))};
}

class Explainer {
 public:
  Explainer(const Plan& plan, const Simulation& sim)
      : plan_(plan), sim_(sim), deps_(*sim.dependencies), tracks_(sim.timeline.tracks) {
    PLAIT_CHECK(!tracks_.empty(), "only a recorded simulation can be explained");
    for (std::size_t s = 0; s < plan.programs.size(); ++s) {
      ops_.push_back(flat_ops(plan, s));
      label_ops();
      index_messages(s);
    }
    for (const Track& t : tracks_) {
      const auto s = static_cast<std::size_t>(t.stage);
      slowed_by_.push_back(
          plait::slowed_by(plan, *sim.durations, t, lane_of(causes_.size()), ops_[s]));
      causes_.push_back(causes(plan, deps_, t, ops_[s]));
      issues_.push_back(issues(plan, *sim.durations, t, ops_[s]));
    }
  }

  Explanation run() {
    Explanation out;
    break_down(out);
    follow_critical_path(out);
    out.bound_by = verdict(out);
    return out;
  }

 private:
  struct Place {
    std::size_t track;
    std::uint32_t flat;
  };
  struct Waits {  // labels of time in which nothing of the rank runs
    std::size_t host, bubble, idle;
  };

  // ---- lookups
  const Op& op(std::size_t stage, std::uint32_t flat) const {
    const OpSite at = ops_[stage][flat];
    return plan_.blocks[plan_.programs[stage].calls[at.call].block].ops[at.op];
  }
  std::size_t op_id(std::size_t stage, std::uint32_t flat) const {
    const OpSite at = ops_[stage][flat];
    return sim_.durations->op_id(plan_.programs[stage].calls[at.call].block, at.op);
  }
  std::size_t stage_of(std::size_t track) const {
    return static_cast<std::size_t>(tracks_[track].stage);
  }
  std::size_t lane_of(std::size_t track) const {
    const std::size_t per_stage = tracks_.size() / plan_.programs.size();
    return track % per_stage;
  }
  void label_ops() {
    if (!labels_.empty()) return;
    std::map<Label, std::size_t> known;
    for (const Block& b : plan_.blocks) {
      for (const Op& o : b.ops) {
        const auto [at, fresh] = known.emplace(label_of(o), names_.size());
        if (fresh) names_.push_back(at->first);
        labels_.push_back(at->second);
      }
    }
  }
  std::size_t label(std::size_t stage, std::uint32_t flat) const {
    return labels_[op_id(stage, flat)];
  }
  std::size_t special(const Label& l) {
    const auto found = std::find(names_.begin(), names_.end(), l);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    names_.push_back(l);
    return names_.size() - 1;
  }
  void index_messages(std::size_t s) {
    sender_.resize(deps_.messages, {0, kNoCause});
    across_.emplace_back();
    for (std::uint32_t flat = 0; flat < ops_[s].size(); ++flat) {
      const Op& o = op(s, flat);
      if (std::holds_alternative<Send>(o.body)) {
        sender_[deps_.programs[s].message[ops_[s][flat].call]] = {s, flat};
      }
      const Collective* c = std::get_if<Collective>(&o.body);
      if (c != nullptr && c->axes.has(Axis::kPp)) across_[s].push_back(flat);
    }
  }

  bool waited_for_host(std::size_t track, std::uint32_t flat, SimTime start) const {
    return start > 0 && !issues_[track].empty() && issues_[track][flat].time == start;
  }
  /// Since when the host of that op's rank had been busy.
  SimTime busy_since(std::size_t track, std::uint32_t flat) const {
    const std::uint32_t after = issues_[track][flat].after;
    return after == kNoCause ? 0 : tracks_[track].end[after];
  }

  // ---- breakdown: what each rank's compute stream does, or waits for
  void break_down(Explanation& out) {
    const Waits waits = {special({"host", ""}), special({"bubble", ""}), special({"idle", ""})};
    std::vector<double> total(names_.size(), 0);
    double ranks = 0;
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      const auto weight = static_cast<double>(tracks_[t].multiplicity);
      std::vector<SimTime> sum(names_.size(), 0);
      account(t, sum, waits);
      for (std::size_t k = 0; k < sum.size(); ++k) total[k] += weight * to_seconds(sum[k]).value;
      ranks += weight;
    }
    for (std::size_t k = 0; k < names_.size(); ++k) {
      if (total[k] == 0) continue;
      out.breakdown.push_back({names_[k].first, names_[k].second, Seconds(total[k] / ranks)});
    }
    sort(out.breakdown);
  }
  void account(std::size_t t, std::vector<SimTime>& sum, const Waits& waits) const {
    const Track& track = tracks_[t];
    const std::size_t s = stage_of(t);
    SimTime now = 0;
    for (std::uint32_t i = 0; i < ops_[s].size(); ++i) {
      if (op(s, i).stream != Stream::kCompute) continue;
      if (track.start[i] > now) blame(t, now, track.start[i], i, sum, waits);
      sum[label(s, i)] += track.end[i] - track.start[i];
      now = track.end[i];
    }
    // After the last kernel: communication of this rank, then others that still work.
    std::uint32_t last = kNoCause;
    for (std::uint32_t i = 0; i < ops_[s].size(); ++i) {
      if (last == kNoCause || track.end[i] > track.end[last]) last = i;
    }
    if (last != kNoCause && track.end[last] > now) {
      const SimTime start = std::max(now, track.start[last]);
      sum[label(s, last)] += track.end[last] - start;
      blame(t, now, start, last, sum, waits);
      now = track.end[last];
    }
    sum[waits.idle] += sim_.timeline.step_time - now;
  }
  /// The compute stream stood still from `from` to `to`, when op `flat` of the rank started. The
  /// time is, going back, the host's while the op had everything but was not issued; else that of
  /// the op of another stream that it waited for, while this ran; before, what this one waited for;
  /// with nothing of this rank, the peers'.
  void blame(std::size_t t, SimTime from, SimTime to, std::uint32_t flat, std::vector<SimTime>& sum,
             const Waits& waits) const {
    const Track& track = tracks_[t];
    const std::size_t s = stage_of(t);
    while (to > from) {
      std::uint32_t cause = causes_[t][flat];
      const auto had = [&] { return std::max(from, cause == kNoCause ? 0 : track.end[cause]); };
      if (had() < to) {
        if (!waited_for_host(t, flat, to)) return void(sum[waits.bubble] += to - from);
        if (busy_since(t, flat) > had()) cause = issues_[t][flat].after;
        sum[waits.host] += to - had();
        to = had();
      }
      if (to == from) return;
      const SimTime begin = std::max(from, track.start[cause]);
      sum[label(s, cause)] += to - begin;
      to = begin;
      flat = cause;
    }
  }

  // ---- critical path
  void follow_critical_path(Explanation& out) {
    const std::size_t idle = special({"idle", ""}), host = special({"host", ""});
    std::vector<SimTime> sum(names_.size(), 0);
    std::array<Seconds, kResources> resources = {};
    Place at = latest();
    SimTime now = sim_.timeline.step_time;
    while (now > 0) {
      at = binding_member(at);
      const std::size_t s = stage_of(at.track);
      const Track& track = tracks_[at.track];
      if (track.end[at.flat] != now) break;  // waited for a rank that is not recorded
      const SimTime d = now - track.start[at.flat];
      sum[label(s, at.flat)] += d;
      spend(at, d, resources);
      now -= d;
      std::uint32_t cause = causes_[at.track][at.flat];
      const bool follows = cause != kNoCause && track.end[cause] == now;
      if (!follows && waited_for_host(at.track, at.flat, now)) {
        const SimTime since = busy_since(at.track, at.flat);
        sum[host] += now - since;
        resources[kHostIssue] += to_seconds(now - since);
        now = since;
        cause = issues_[at.track][at.flat].after;
      }
      if (now > 0 && cause == kNoCause) break;
      at.flat = cause;
    }
    sum[idle] += now;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      if (sum[k] != 0)
        out.critical_path.push_back({names_[k].first, names_[k].second, to_seconds(sum[k])});
    }
    sort(out.critical_path);
    for (int r = 0; r < kResources; ++r) {
      const Seconds time = resources[static_cast<std::size_t>(r)];
      if (time.value > 0)
        out.sensitivity.push_back({std::string(resource_name(static_cast<Resource>(r))), time});
    }
    std::stable_sort(out.sensitivity.begin(), out.sensitivity.end(),
                     [](const Sensitivity& a, const Sensitivity& b) { return a.time > b.time; });
  }
  Place latest() const {
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      for (std::uint32_t i = 0; i < tracks_[t].end.size(); ++i) {
        if (tracks_[t].end[i] == sim_.timeline.step_time) return {t, i};
      }
    }
    return {0, 0};
  }
  /// Where the end of a receive or collective was decided: at its sender, at its last member.
  Place binding_member(Place at) const {
    const std::size_t s = stage_of(at.track);
    const Op& o = op(s, at.flat);
    const SimTime start = tracks_[at.track].start[at.flat];
    const std::uint32_t cause = causes_[at.track][at.flat];
    const bool own = (cause != kNoCause && tracks_[at.track].end[cause] == start) ||
                     waited_for_host(at.track, at.flat, start);
    const std::size_t per_stage = tracks_.size() / plan_.programs.size();
    if (std::holds_alternative<Recv>(o.body)) {
      const Place sender = sender_[deps_.programs[s].message[ops_[s][at.flat].call]];
      for (std::size_t lane = 0; lane < per_stage && sender.flat != kNoCause; ++lane) {
        const Place remote{sender.track * per_stage + lane, sender.flat};
        const bool waited =
            tracks_[remote.track].end[remote.flat] == tracks_[at.track].end[at.flat];
        if (waited && of_one_rank(s, lane, lane_of(at.track))) return remote;
      }
      return at;
    }
    const Collective* c = std::get_if<Collective>(&o.body);
    if (c == nullptr || own || start == 0) return at;
    return last_member(at, *c, start);
  }
  /// Lanes of places that one rank of the stage has: its messages come in on all of them.
  bool of_one_rank(std::size_t stage, std::size_t a, std::size_t b) const {
    const std::vector<Grouping>& shared = sim_.lanes->shared;
    return a == b || (!shared.empty() && shared[stage].group_of[a] == shared[stage].group_of[b]);
  }
  Place last_member(Place at, const Collective& c, SimTime start) const {
    const std::size_t s = stage_of(at.track), lane = lane_of(at.track);
    const std::size_t per_stage = tracks_.size() / plan_.programs.size();
    const Grouping& g = sim_.lanes->groupings[sim_.lanes->grouping(c)];
    const bool across = c.axes.has(Axis::kPp);
    const auto k = across ? occurrence(s, at.flat, c.stages) : 0;
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      const std::size_t other = t / per_stage;
      if (g.group_of[t % per_stage] != g.group_of[lane] || (!across && other != s)) continue;
      if (across && meeting(c, other) != meeting(c, s)) continue;
      const std::uint32_t flat = across ? nth(other, k, c.stages) : at.flat;
      if (flat == kNoCause) continue;
      const std::uint32_t cause = causes_[t][flat];
      if (cause != kNoCause && tracks_[t].end[cause] == start) return {t, flat};
      if (waited_for_host(t, flat, start)) return {t, flat};
    }
    return at;
  }
  std::int64_t meeting(const Collective& c, std::size_t stage) const {
    return first_of_meeting(c.stages, static_cast<std::int64_t>(stage),
                            static_cast<std::int64_t>(plan_.programs.size()));
  }
  std::size_t occurrence(std::size_t stage, std::uint32_t flat, Stages which) const {
    std::size_t k = 0;
    for (std::uint32_t f : across_[stage]) {
      if (f == flat) return k;
      if (std::get<Collective>(op(stage, f).body).stages == which) ++k;
    }
    return k;
  }
  std::uint32_t nth(std::size_t stage, std::size_t k, Stages which) const {
    for (std::uint32_t f : across_[stage]) {
      if (std::get<Collective>(op(stage, f).body).stages == which && k-- == 0) return f;
    }
    return kNoCause;
  }
  /// Splits time on the path by the hardware it is spent on. What a kernel takes longer than alone
  /// is its collective's: it grows with the time for which that holds multiprocessors.
  void spend(const Place& at, SimTime d, std::array<Seconds, kResources>& resources) const {
    const std::size_t s = stage_of(at.track);
    const std::uint32_t slowed_by = slowed_by_[at.track][at.flat];
    SimTime own = d;
    if (slowed_by != kNoCause) {
      own = std::min(d, sim_.durations->row(s, op_id(s, at.flat)).at(lane_of(at.track)));
      share_out({at.track, slowed_by}, d - own, resources);
    }
    share_out(at, own, resources);
  }
  void share_out(const Place& at, SimTime d, std::array<Seconds, kResources>& resources) const {
    const std::size_t s = stage_of(at.track);
    const Cost& cost = sim_.durations->cost(s, lane_of(at.track), op_id(s, at.flat));
    const double total = cost.total().value;
    if (total <= 0) return;
    const double scale = to_seconds(d).value / total;
    for (std::size_t r = 0; r < resources.size(); ++r) resources[r] += cost.share[r] * scale;
  }

  static void sort(std::vector<Share>& shares) {
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.time > b.time; });
  }
  static std::string verdict(const Explanation& e) {
    std::map<std::string, double> groups;
    double computing = 0;
    // A host that binds is behind by little at each op; its whole path counts.
    for (const Share& s : e.critical_path) {
      if (s.group == "host") groups["host"] += s.time.value;
    }
    for (const Share& s : e.breakdown) {
      const bool comm = s.group == "exposed_communication";
      if (s.group == "host") continue;
      if (s.group == "compute" || s.group == "recompute")
        computing += s.time.value;
      else
        groups[comm                  ? "communication over " + s.name
               : s.group == "bubble" ? "pipeline bubble"
                                     : s.group] += s.time.value;
    }
    std::string best = "compute";
    for (const auto& [name, time] : groups) {
      if (time > computing) best = name, computing = time;
    }
    return best;
  }

  const Plan& plan_;
  const Simulation& sim_;
  const Dependencies& deps_;
  const std::vector<Track>& tracks_;
  std::vector<std::vector<OpSite>> ops_;                        // per stage
  std::vector<std::vector<std::uint32_t>> causes_, slowed_by_;  // per track
  std::vector<std::vector<Issue>> issues_;  // per track; empty where the host takes no time
  std::vector<Label> names_;
  std::vector<std::size_t> labels_;                 // per op id: index into names_
  std::vector<Place> sender_;                       // per message: stage and flat op of its Send
  std::vector<std::vector<std::uint32_t>> across_;  // per stage: collectives across stages
};

}  // namespace

Explanation explain(const Plan& plan, const Simulation& simulation) {
  return Explainer(plan, simulation).run();
}

}  // namespace plait
