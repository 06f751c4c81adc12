#pragma once
// A recorded simulation as those read it who say where its time went: each op of each track with
// the op that it waited for, when its host issued it, and what its time counts as.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/explanation.h"
#include "sim/causes.h"
#include "sim/simulate.h"

namespace plait {

/// An op of a track, by its flat index.
struct PlaceInTrack {
  std::size_t track = 0;
  std::uint32_t flat = kNoCause;
  auto operator<=>(const PlaceInTrack&) const = default;
};

class RecordedStep {
 public:
  RecordedStep(const Plan& plan, const Simulation& simulation);

  const Plan& plan() const { return plan_; }
  const Simulation& simulation() const { return sim_; }
  const std::vector<Track>& tracks() const { return tracks_; }
  SimTime step_time() const { return sim_.timeline.step_time; }
  std::size_t stage_of(std::size_t track) const {
    return static_cast<std::size_t>(tracks_[track].stage);
  }
  std::size_t tracks_per_stage() const { return tracks_.size() / plan_.programs.size(); }
  std::size_t lane_of(std::size_t track) const { return track % tracks_per_stage(); }

  // Of op `flat` of a stage's program.
  std::uint32_t ops(std::size_t stage) const {
    return static_cast<std::uint32_t>(ops_[stage].size());
  }
  std::uint32_t call(std::size_t stage, std::uint32_t flat) const { return ops_[stage][flat].call; }
  const Op& op(std::size_t stage, std::uint32_t flat) const {
    const OpSite at = ops_[stage][flat];
    return plan_.blocks[plan_.programs[stage].calls[at.call].block].ops[at.op];
  }
  std::size_t op_id(std::size_t stage, std::uint32_t flat) const {
    const OpSite at = ops_[stage][flat];
    return sim_.durations->op_id(plan_.programs[stage].calls[at.call].block, at.op);
  }
  std::size_t label(std::size_t stage, std::uint32_t flat) const {
    return labels_[op_id(stage, flat)];
  }

  // Of op `flat` of a track: flat indices too, or kNoCause.
  std::uint32_t cause(std::size_t track, std::uint32_t flat) const { return causes_[track][flat]; }
  /// Behind which the host went on, and issued all ops up to this one.
  std::uint32_t host_after(std::size_t track, std::uint32_t flat) const {
    return issues_[track][flat].after;
  }
  bool waited_for_host(std::size_t track, std::uint32_t flat, SimTime start) const {
    return start > 0 && !issues_[track].empty() && issues_[track][flat].time == start;
  }
  /// When the op's rank had all that it needed of its own, what it waited for and the host.
  SimTime ready(std::size_t track, std::uint32_t flat) const {
    const std::uint32_t after = cause(track, flat);
    const SimTime issued = issues_[track].empty() ? 0 : issues_[track][flat].time;
    return std::max(issued, after == kNoCause ? 0 : tracks_[track].end[after]);
  }
  /// Since when the host of that op's rank had been busy.
  SimTime busy_since(std::size_t track, std::uint32_t flat) const {
    const std::uint32_t after = host_after(track, flat);
    return after == kNoCause ? 0 : tracks_[track].end[after];
  }

  // ---- labels: what time is spent for
  struct Waits {  // in which nothing of the rank runs
    std::size_t host = 0, bubble = 0, idle = 0;
  };
  const Waits& waits() const { return waits_; }
  std::size_t labels() const { return names_.size(); }
  /// Of those that have a time, by label; the longest first.
  std::vector<Share> shares(const std::vector<Seconds>& time) const;

 private:
  using Label = std::pair<std::string, std::string>;  // group, name
  void label_ops();
  std::size_t add(const Label& label);

  const Plan& plan_;
  const Simulation& sim_;
  const std::vector<Track>& tracks_;
  std::vector<std::vector<OpSite>> ops_;            // per stage
  std::vector<std::vector<std::uint32_t>> causes_;  // per track
  std::vector<std::vector<Issue>> issues_;          // per track; empty where the host takes no time
  std::vector<Label> names_;
  std::vector<std::size_t> labels_;  // per op id: index into names_
  Waits waits_;
};

}  // namespace plait
