#include "plan/steady_step.h"

#include <algorithm>

namespace plait {
namespace {

bool spans_stages(const Plan& plan) {
  for (const Program& program : plan.programs) {
    for (const Call& call : program.calls) {
      for (const Op& op : plan.blocks[call.block].ops) {
        const Collective* c = std::get_if<Collective>(&op.body);
        if (c != nullptr && c->axes.has(Axis::kPp)) return true;
      }
    }
  }
  return false;
}

/// From the end of what comes before the first receive of `track` to its arrival.
SimTime wait_for_first_message(const Plan& plan, const Track& track) {
  std::size_t i = 0;
  SimTime ready = 0;
  for (const Call& call : plan.programs[static_cast<std::size_t>(track.stage)].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      if (std::holds_alternative<Recv>(op.body)) {
        return std::max<SimTime>(0, track.end[i] - ready);
      }
      ready = std::max(ready, track.end[i++]);
    }
  }
  return 0;
}

}  // namespace

SimTime steady_step(const Plan& plan, const Timeline& timeline) {
  if (plan.programs.size() <= 1 || spans_stages(plan)) return timeline.step_time;
  SimTime longest = 0, latest = 0;
  for (const Track& track : timeline.tracks) {
    if (track.end.empty()) return timeline.step_time;  // not recorded
    const SimTime end = *std::max_element(track.end.begin(), track.end.end());
    const bool first = track.stage == 0;  // its first message is a gradient
    latest = std::max(latest, end);
    longest = std::max(longest, first ? end : end - wait_for_first_message(plan, track));
  }
  return timeline.step_time - (latest - longest);
}

}  // namespace plait
