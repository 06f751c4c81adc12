// What must hold of any recorded timeline, whatever the durations.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

#include "sim/simulate.h"
#include "tests/sim/draw.h"
#include "tests/sim/reference.h"

namespace plait::causality_test {

struct Recorded {
  Case c;
  Plan plan;
  Simulation sim;
};
Recorded any_recording() {
  Recorded r;
  r.c = RandomCase(pick).draw();
  r.plan = r.c.plan();
  SimulationOptions options;
  options.placement = r.c.placement;
  options.unfold = pick(0, 1) == 1;
  r.sim = simulate(r.plan, r.c.cluster(), r.c.costs(), options);
  return r;
}

std::vector<const Op*> ops_of(const Plan& plan, std::size_t stage) {
  std::vector<const Op*> out;
  for (const Call& call : plan.programs[stage].calls) {
    for (const Op& op : plan.blocks[call.block].ops) out.push_back(&op);
  }
  return out;
}

RC_GTEST_PROP(Causality, NothingEndsBeforeItStartsNorAfterTheStep, ()) {
  const Recorded r = any_recording();
  SimTime latest = 0;
  for (const Track& t : r.sim.timeline.tracks) {
    RC_ASSERT(t.start.size() ==
              static_cast<std::size_t>(op_count(r.plan, static_cast<std::size_t>(t.stage))));
    for (std::size_t i = 0; i < t.start.size(); ++i) {
      RC_ASSERT(0 <= t.start[i]);
      RC_ASSERT(t.start[i] <= t.end[i]);
      latest = std::max(latest, t.end[i]);
    }
  }
  RC_ASSERT(latest == r.sim.timeline.step_time);
}

RC_GTEST_PROP(Causality, StreamsAreInOrder, ()) {
  const Recorded r = any_recording();
  RC_LOG() << r.c << "\n";
  for (const Track& t : r.sim.timeline.tracks) {
    const std::vector<const Op*> ops = ops_of(r.plan, static_cast<std::size_t>(t.stage));
    std::array<SimTime, kStreams> free = {};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      SimTime& busy_until = free[static_cast<std::size_t>(ops[i]->stream)];
      RC_ASSERT(t.start[i] >= busy_until);
      busy_until = t.end[i];
    }
  }
}

// Writers before readers, readers before the next writer, and whatever `after` asks for.
RC_GTEST_PROP(Causality, NoOpStartsBeforeWhatItsOperandsWaitFor, ()) {
  const Recorded r = any_recording();
  RC_LOG() << r.c << "\n";
  for (std::size_t s = 0; s < r.plan.programs.size(); ++s) {
    const std::vector<std::vector<std::size_t>> waits = reference_waits(r.plan, s);
    for (const Track& t : r.sim.timeline.tracks) {
      if (t.stage != static_cast<std::int64_t>(s)) continue;
      for (std::size_t i = 0; i < waits.size(); ++i) {
        for (std::size_t w : waits[i]) RC_ASSERT(t.end[w] <= t.start[i]);
      }
    }
  }
}

// One lane stands for some positions of every stage, so the tracks of a stage stand for all of it.
RC_GTEST_PROP(Causality, TracksStandForEveryRankOnce, ()) {
  const Recorded r = any_recording();
  std::vector<std::int64_t> ranks(r.plan.programs.size(), 0);
  for (const Track& t : r.sim.timeline.tracks) {
    ranks[static_cast<std::size_t>(t.stage)] += t.multiplicity;
    RC_ASSERT(t.rank / r.plan.places_per_stage() == t.stage);
  }
  for (std::int64_t n : ranks) RC_ASSERT(n == r.plan.places_per_stage());
}

// Durations are integers and the earliest times that satisfy all waits grow with each of them, but
// for kernels that a collective slows down: it may come to lie beside others.
RC_GTEST_PROP(Causality, ASlowerDeviceNeverMakesTheStepShorter, ()) {
  Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  SimulationOptions options;
  options.placement = c.placement;
  options.record = false;
  options.interference = false;
  const SimTime before = simulate(plan, c.cluster(), c.costs(), options).timeline.step_time;
  const std::int64_t device = pick(0, plan.mesh.world_size() - 1);
  const auto slow = std::ranges::find(c.machine.slowdowns, device, &Slowdown::device);
  if (slow == c.machine.slowdowns.end()) {
    c.machine.slowdowns.push_back({device, 1.25});
  } else {
    slow->factor *= 1.25;
  }
  RC_ASSERT(simulate(plan, c.cluster(), c.costs(), options).timeline.step_time >= before);
}

}  // namespace plait::causality_test
