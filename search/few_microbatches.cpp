#include "search/few_microbatches.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "plan/repeats.h"
#include "plan/schedule.h"
#include "plan/steady_step.h"

namespace plait {
namespace {

/// Of the shorter plan: to fill the stages, to drain them, and some in between.
std::int64_t periods_of(Schedule s) { return splits_backward(s) ? 8 : 6; }

/// Only steps that run into one another are read off the timeline.
bool runs_on(const Plan& plan, const Scenario& s) {
  return plan.programs.size() > 1 && !s.workload.gradient_clipping;
}

SimTime step_of(const Plan& plan, const Scenario& s, const Timeline& timeline) {
  return runs_on(plan, s) ? steady_step(plan, timeline) : timeline.step_time;
}

/// Microbatches after which a schedule repeats itself; 0: as a whole it does not.
std::int64_t period_of(const Strategy& s) {
  const Schedule schedule = s.pipeline.schedule;
  const bool both_ways = kind_of(schedule).shape == PipelineShape::kBothWays;
  if (is_automatic(schedule) || both_ways || schedule == Schedule::kGpipe) return 0;
  return group_of(s.pipeline, s.mesh[Axis::kPp]);
}

/// A plan of some microbatches and its simulation.
struct Trial {
  Plan plan;
  Simulation run;
};

Trial trial(const Scenario& s, const CostModel& costs, std::int64_t microbatches) {
  Workload workload = s.workload;
  workload.global_batch = microbatches * s.strategy.replicas() * s.workload.micro_batch;
  Trial out{make_plan(s.model, workload, s.strategy), {}};
  out.run = simulate(out.plan, s.cluster, costs,
                     {.interference = s.interference, .record = true, .placement = s.placement});
  return out;
}

/// What two plans' programs of a stage have in common, in calls.
struct Common {
  std::size_t period = 0;  // L
  std::size_t prefix = 0;  // c
  std::size_t suffix = 0;  // f
};

Common common_of(const std::vector<Call>& few, const std::vector<Call>& more, std::int64_t later) {
  Common out;
  if (more.size() <= few.size()) return out;
  out.period = more.size() - few.size();
  const auto same = [&](std::size_t i) { return is_repeat(few[i], more[i], 0, 0); };
  const auto moved = [&](std::size_t i) {
    return is_repeat(few[i], more[i + out.period], out.period, later);
  };
  while (out.prefix < few.size() && same(out.prefix)) ++out.prefix;
  out.suffix = few.size();
  while (out.suffix > 0 && moved(out.suffix - 1)) --out.suffix;
  return out;
}

class Comparison {
 public:
  Comparison(const Trial& few, const Trial& more, std::int64_t later)
      : few_(few), more_(more), longer_(more.run.timeline.step_time - few.run.timeline.step_time) {
    for (std::size_t s = 0; s < few.plan.programs.size(); ++s) {
      const std::vector<Call>& calls = few.plan.programs[s].calls;
      common_.push_back(common_of(calls, more.plan.programs[s].calls, later));
      first_op_.emplace_back(1, 0);
      for (const Call& call : calls) {
        first_op_.back().push_back(first_op_.back().back() +
                                   few.plan.blocks[call.block].ops.size());
      }
    }
  }

  /// So many further periods; nothing where periods differ.
  std::optional<FurtherPeriods> further(std::int64_t count) const {
    const std::size_t stages = few_.plan.programs.size();
    const bool all_recorded = few_.run.timeline.tracks.size() == stages * few_.run.lanes->count() &&
                              more_.run.timeline.tracks.size() == few_.run.timeline.tracks.size();
    const bool known = all_recorded && longer_ > 0 && stages_have_periods() && prefix_is_closed() &&
                       host_keeps_up() && starts_alike();
    if (!known) return std::nullopt;
    for (std::size_t periods = 1; periods_before(periods + 1); ++periods) {
      if (ended_before_last_period(periods)) {
        return ends_alike(periods + 1) ? std::optional(further_periods(count)) : std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  bool stages_have_periods() const {
    return std::ranges::all_of(common_, [](const Common& c) { return c.period > 0; }) &&
           periods_before(2);
  }
  /// All stages have as many periods before c.
  bool periods_before(std::size_t periods) const {
    return std::ranges::all_of(
        common_, [&](const Common& c) { return c.prefix >= c.suffix + periods * c.period; });
  }

  /// Nothing before c waits for another stage's call behind it.
  bool prefix_is_closed() const {
    std::vector<bool> sent(few_.run.dependencies->messages, false);
    for (std::size_t s = 0; s < common_.size(); ++s) {
      for (std::size_t c = 0; c < common_[s].prefix; ++c) {
        for (const Op& op : ops_of(s, c)) {
          const auto* meeting = std::get_if<Collective>(&op.body);
          if (meeting != nullptr && meeting->axes.has(Axis::kPp)) return false;
          if (std::holds_alternative<Send>(op.body)) sent[message(s, c)] = true;
        }
      }
    }
    for (std::size_t s = 0; s < common_.size(); ++s) {
      for (std::size_t c = 0; c < common_[s].prefix; ++c) {
        const bool receives = std::ranges::any_of(
            ops_of(s, c), [](const Op& op) { return std::holds_alternative<Recv>(op.body); });
        if (receives && !sent[message(s, c)]) return false;
      }
    }
    return true;
  }
  const std::vector<Op>& ops_of(std::size_t stage, std::size_t call) const {
    return few_.plan.blocks[few_.plan.programs[stage].calls[call].block].ops;
  }
  std::uint32_t message(std::size_t stage, std::size_t call) const {
    return few_.run.dependencies->programs[stage].message[call];
  }

  bool host_keeps_up() const {
    const Durations& durations = *few_.run.durations;
    for (std::size_t s = 0; s < common_.size(); ++s) {
      SimTime issue = 0;
      for (std::size_t c = common_[s].prefix - common_[s].period; c < common_[s].prefix; ++c) {
        const BlockId block = few_.plan.programs[s].calls[c].block;
        for (std::size_t i = 0; i < ops_of(s, c).size(); ++i) {
          issue += durations.issue(durations.op_id(block, i));
        }
      }
      if (issue > longer_) return false;
    }
    return true;
  }

  /// Before c.
  bool starts_alike() const {
    return each_track([&](std::size_t s, const Track& few, const Track& more) {
      const auto n = static_cast<std::ptrdiff_t>(op(s, common_[s].prefix));
      return std::equal(few.start.begin(), few.start.begin() + n, more.start.begin()) &&
             std::equal(few.end.begin(), few.end.begin() + n, more.end.begin());
    });
  }
  /// What comes `periods` before c and later.
  bool ends_alike(std::size_t periods) const {
    return each_track([&](std::size_t s, const Track& few, const Track& more) {
      const std::size_t first = op(s, before(s, periods));
      const std::size_t by = op(s, common_[s].prefix) - op(s, before(s, 1));
      for (std::size_t i = first; i < few.start.size(); ++i) {
        const bool later = more.start[i + by] == few.start[i] + longer_ &&
                           more.end[i + by] == few.end[i] + longer_;
        if (!later) return false;
      }
      return true;
    });
  }
  /// What comes earlier than `periods` before c has ended.
  bool ended_before_last_period(std::size_t periods) const {
    SimTime latest = 0, earliest = std::numeric_limits<SimTime>::max();
    each_track([&](std::size_t s, const Track& few, const Track&) {
      const std::size_t x = op(s, before(s, periods));
      for (std::size_t i = 0; i < x; ++i) latest = std::max(latest, few.end[i]);
      const std::size_t c = op(s, common_[s].prefix);
      for (std::size_t i = op(s, before(s, 1)); i < c; ++i) {
        earliest = std::min(earliest, few.start[i]);
      }
      return true;
    });
    return latest < earliest;
  }

  FurtherPeriods further_periods(std::int64_t count) const {
    FurtherPeriods out = {count, longer_, {}};
    for (std::size_t s = 0; s < common_.size(); ++s) {
      out.last.push_back({static_cast<std::uint32_t>(op(s, before(s, 1))),
                          static_cast<std::uint32_t>(op(s, common_[s].prefix))});
    }
    return out;
  }

  std::size_t before(std::size_t stage, std::size_t periods) const {
    return common_[stage].prefix - periods * common_[stage].period;
  }
  std::size_t op(std::size_t stage, std::size_t call) const { return first_op_[stage][call]; }

  template <class Check>
  bool each_track(const Check& check) const {
    for (std::size_t t = 0; t < few_.run.timeline.tracks.size(); ++t) {
      const Track &few = few_.run.timeline.tracks[t], &more = more_.run.timeline.tracks[t];
      if (!check(static_cast<std::size_t>(few.stage), few, more)) return false;
    }
    return true;
  }

  const Trial& few_;
  const Trial& more_;
  SimTime longer_;
  std::vector<Common> common_;
  std::vector<std::vector<std::size_t>> first_op_;  // by stage: of each call
};

}  // namespace

std::optional<ToldStep> step_of_few(const Scenario& s, const CostModel& costs) {
  const std::int64_t later = period_of(s.strategy);
  if (later == 0) return {};
  const std::int64_t per_pass = s.strategy.replicas() * s.workload.micro_batch;
  const std::int64_t all = s.workload.global_batch / per_pass;
  const std::int64_t few = periods_of(s.strategy.pipeline.schedule) * later + all % later;
  if (s.workload.global_batch % per_pass != 0 || 3 * (2 * few + later) > 2 * all) return {};
  Trial shorter = trial(s, costs, few);
  const Trial longer = trial(s, costs, few + later);
  const auto further = Comparison(shorter, longer, later).further((all - few) / later);
  if (!further) return {};
  const SimTime step = step_of(shorter.plan, s, shorter.run.timeline);
  if (step_of(longer.plan, s, longer.run.timeline) != step + further->time) return {};
  return ToldStep{step + further->count * further->time, std::move(shorter.plan),
                  std::move(shorter.run), all - few, *further};
}

SimTime step_of_all(const Plan& plan, const Scenario& s, const CostModel& costs) {
  const Simulation run = simulate(
      plan, s.cluster, costs,
      {.interference = s.interference, .record = runs_on(plan, s), .placement = s.placement});
  return step_of(plan, s, run.timeline);
}

}  // namespace plait
