#include "search/steady_middle.h"

#include <algorithm>
#include <limits>

#include "plan/repeats.h"
#include "sim/causes.h"

namespace plait {
namespace {

CommonCalls common_of(const std::vector<Call>& few, const std::vector<Call>& more,
                      std::int64_t later) {
  CommonCalls out;
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

bool receives(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& o) { return std::holds_alternative<Recv>(o.body); });
}

}  // namespace

SteadyMiddle::SteadyMiddle(const Plan& few, const Simulation& run, const Plan& more,
                           std::int64_t later)
    : few_(few), run_(run) {
  for (std::size_t s = 0; s < few.programs.size(); ++s) {
    const std::vector<Call>& calls = few.programs[s].calls;
    common_.push_back(common_of(calls, more.programs[s].calls, later));
    std::vector<std::size_t>& first = first_op_.emplace_back();
    first.reserve(calls.size() + 1);
    first.push_back(0);
    for (const Call& call : calls) {
      first.push_back(first.back() + few.blocks[call.block].ops.size());
    }
  }
}

bool SteadyMiddle::repeats() const {
  return all_recorded() && stages_have_periods() && prefix_is_closed();
}

std::optional<FurtherPeriods> SteadyMiddle::further(std::int64_t count) const {
  const Track& any = run_.timeline.tracks.front();
  const SimTime longer = any.start[op_before(any, 1)] - any.start[op_before(any, 2)];
  const std::optional<std::size_t> periods = periods_waited_for();
  const bool known =
      longer > 0 && periods && alike(*periods, longer) && host_keeps_up(longer) && ends_behind();
  if (!known) return std::nullopt;
  FurtherPeriods out = {count, longer, {}};
  for (std::size_t s = 0; s < common_.size(); ++s) {
    out.last.push_back({static_cast<std::uint32_t>(op(s, before(s, 1))),
                        static_cast<std::uint32_t>(op(s, common_[s].prefix))});
  }
  return out;
}

bool SteadyMiddle::stages_have_periods() const {
  return std::ranges::all_of(common_, [](const CommonCalls& c) { return c.period > 0; }) &&
         periods_before(2);
}

/// All stages have as many periods before c.
bool SteadyMiddle::periods_before(std::size_t periods) const {
  return std::ranges::all_of(
      common_, [&](const CommonCalls& c) { return c.prefix >= c.suffix + periods * c.period; });
}

/// Nothing before c waits for another stage's call behind it; each stage but the first has received
/// something, where stages are several.
bool SteadyMiddle::prefix_is_closed() const {
  std::vector<bool> sent(run_.dependencies->messages, false);
  for (std::size_t s = 0; s < common_.size(); ++s) {
    for (std::size_t c = 0; c < common_[s].prefix; ++c) {
      for (const Op& o : ops_of(s, c)) {
        const auto* meeting = std::get_if<Collective>(&o.body);
        if (meeting != nullptr && meeting->axes.has(Axis::kPp)) return false;
        if (std::holds_alternative<Send>(o.body)) sent[message(s, c)] = true;
      }
    }
  }
  for (std::size_t s = 0; s < common_.size(); ++s) {
    bool received = common_.size() == 1;
    for (std::size_t c = 0; c < common_[s].prefix; ++c) {
      if (!receives(ops_of(s, c))) continue;
      if (!sent[message(s, c)]) return false;
      received = true;
    }
    if (!received) return false;
  }
  return true;
}

bool SteadyMiddle::all_recorded() const {
  return run_.timeline.tracks.size() == common_.size() * run_.lanes->count();
}

/// K: what comes earlier than so many periods before c has ended before anything of the last period
/// or behind it starts.
std::optional<std::size_t> SteadyMiddle::periods_waited_for() const {
  SimTime earliest = std::numeric_limits<SimTime>::max();
  for (const Track& t : run_.timeline.tracks) {
    const auto last_period = t.start.begin() + static_cast<std::ptrdiff_t>(op_before(t, 1));
    earliest = std::min(earliest, *std::min_element(last_period, t.start.end()));
  }
  std::size_t periods = 1;
  for (const Track& t : run_.timeline.tracks) {
    const auto ends_late = [&](SimTime end) { return end >= earliest; };
    const auto first =
        static_cast<std::size_t>(std::ranges::find_if(t.end, ends_late) - t.end.begin());
    for (; op_before(t, periods) > first; ++periods) {
      if (!periods_before(periods + 2)) return std::nullopt;
    }
  }
  return periods_before(periods + 1) ? std::optional(periods) : std::nullopt;
}

/// Each of so many periods before c is `longer` later than the one before.
bool SteadyMiddle::alike(std::size_t periods, SimTime longer) const {
  return std::ranges::all_of(run_.timeline.tracks, [&](const Track& t) {
    const std::size_t first = op_before(t, periods + 1), end = op_before(t, 1);
    const std::size_t by = op_before(t, 0) - end;
    for (std::size_t i = end; i-- > first;) {
      const bool later =
          t.start[i + by] == t.start[i] + longer && t.end[i + by] == t.end[i] + longer;
      if (!later) return false;
    }
    return true;
  });
}

/// Either it is later by as much with each period, or it is ahead of all that comes from the last
/// period on.
bool SteadyMiddle::host_keeps_up(SimTime longer) const {
  std::vector<OpSite> ops;
  std::size_t of_stage = common_.size();
  for (const Track& t : run_.timeline.tracks) {
    const auto s = static_cast<std::size_t>(t.stage);
    if (s != of_stage) ops = flat_ops(few_, of_stage = s);
    const std::vector<Issue> issued = issues(few_, *run_.durations, t, ops);
    if (issued.empty()) continue;
    const std::size_t c = op_before(t, 0), last_period = op_before(t, 1);
    const SimTime later = issued[c - 1].time - issued[last_period - 1].time;
    if (later == longer) continue;
    if (later > longer) return false;
    for (std::size_t i = last_period; i < t.start.size(); ++i) {
      if (t.start[i] <= issued[i].time) return false;
    }
  }
  return true;
}

/// On each track, what ends last comes in the last period or behind it.
bool SteadyMiddle::ends_behind() const {
  return std::ranges::all_of(run_.timeline.tracks, [&](const Track& t) {
    const auto last_period = t.end.begin() + static_cast<std::ptrdiff_t>(op_before(t, 1));
    return *std::max_element(t.end.begin(), last_period) <=
           *std::max_element(last_period, t.end.end());
  });
}

const std::vector<Op>& SteadyMiddle::ops_of(std::size_t stage, std::size_t call) const {
  return few_.blocks[few_.programs[stage].calls[call].block].ops;
}

std::uint32_t SteadyMiddle::message(std::size_t stage, std::size_t call) const {
  return run_.dependencies->programs[stage].message[call];
}

std::size_t SteadyMiddle::before(std::size_t stage, std::size_t periods) const {
  return common_[stage].prefix - periods * common_[stage].period;
}

std::size_t SteadyMiddle::op_before(const Track& track, std::size_t periods) const {
  const auto s = static_cast<std::size_t>(track.stage);
  return op(s, before(s, periods));
}

}  // namespace plait
