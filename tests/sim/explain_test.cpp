// The explanation accounts for all of the step, and its sensitivities predict changes.
#include "sim/explain.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

#include "sim/causes.h"
#include "tests/sim/draw.h"
#include "tests/sim/hand_made.h"

namespace plait::explain_test {

double total(const std::vector<Share>& shares) {
  Seconds t;
  for (const Share& s : shares) t += s.time;
  return t.value;
}

RC_GTEST_PROP(Explain, BreakdownAndCriticalPathSumToTheStep, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  SimulationOptions options;
  options.placement = c.placement;
  options.unfold = pick(0, 1) == 1;
  const Simulation sim = simulate(plan, c.cluster(), c.costs(), options);
  const double step = to_seconds(sim.timeline.step_time).value;
  const Explanation e = explain(plan, sim);
  RC_ASSERT(std::abs(total(e.breakdown) - step) <= 1e-9 * step);
  RC_ASSERT(std::abs(total(e.critical_path) - step) <= 1e-9 * step);
  for (const Share& s : e.breakdown) RC_ASSERT(s.time.value > 0);
  for (const Share& s : e.critical_path) RC_ASSERT(s.time.value > 0);
}

// With every lane recorded each instant of the path has an op, so nothing of it is idle, and the
// hardware behind its ops adds up to it.
RC_GTEST_PROP(Explain, TheCriticalPathHasNoGapsAndAllOfItHasAResource, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  SimulationOptions options;
  options.placement = c.placement;
  const Simulation sim = simulate(plan, c.cluster(), c.costs(), options);
  const Explanation e = explain(plan, sim);
  for (const Share& s : e.critical_path) RC_ASSERT(s.group != "idle" && s.group != "bubble");
  double spent = 0;
  for (const Sensitivity& s : e.sensitivity) spent += s.time.value;
  const double step = to_seconds(sim.timeline.step_time).value;
  RC_ASSERT(std::abs(spent - step) <= 1e-9 * step);
}

// One lane per position or one for all: the same mean over ranks, the same path.
RC_GTEST_PROP(Explain, FoldingDoesNotChangeTheBreakdown, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const Cluster cluster = c.cluster();
  SimulationOptions options;
  options.placement = c.placement;
  const Explanation folded = explain(plan, simulate(plan, cluster, c.costs(), options));
  options.unfold = true;
  const Explanation unfolded = explain(plan, simulate(plan, cluster, c.costs(), options));
  const auto find = [](const std::vector<Share>& in, const Share& like) {
    for (const Share& s : in) {
      if (s.group == like.group && s.name == like.name) return s.time.value;
    }
    return 0.0;
  };
  for (const Share& s : unfolded.breakdown) {
    RC_ASSERT(std::abs(find(folded.breakdown, s) - s.time.value) <= 1e-9 * total(folded.breakdown));
  }
}

// ---- Sensitivities: a rate better by a fraction e divides the time spent on it by 1 + e.

constexpr double kBetter = 1e-3;

struct Knob {
  const char* resource;
  std::function<void(ClusterSpec&, Device&)> improve;
};
ClusterSpec with_own_parts(const Case& c) {
  ClusterSpec spec = c.machine;
  spec.own_node = find_node(spec.preset);
  spec.device = find_device(spec.own_node->device);
  spec.own_fabric = find_fabric(spec.own_node->fabric);
  return spec;
}
const std::vector<Knob>& knobs() {
  constexpr double k = 1 + kBetter;
  static const std::vector<Knob> all = {
      {"peak_flops",
       [](ClusterSpec&, Device& d) { d.peak_bf16 *= k, d.peak_fp16 *= k, d.peak_fp32 *= k; }},
      {"memory_bandwidth", [](ClusterSpec&, Device& d) { d.memory_bandwidth *= k; }},
      {"nvlink_bandwidth", [](ClusterSpec&, Device& d) { d.nvlink_link_bandwidth *= k; }},
      {"infiniband_bandwidth", [](ClusterSpec& s, Device&) { s.own_fabric->bandwidth *= k; }}};
  return all;
}
double step_of(const Plan& plan, const ClusterSpec& spec) {
  const Simulation sim = simulate(plan, make_cluster(spec), {Selection::kFastest});
  return to_seconds(sim.timeline.step_time).value;
}

// Predicted change: T (1 - 1 / (1 + e)) for the time T that the path spends on the resource. What
// else moves the step: each op is rounded to 1 ps, in both runs, and up to `ops` of them are on the
// path; and another path may become the longest, which only ever makes the gain smaller.
void expect_sensitivities(const Case& c, const std::vector<std::string>& resources) {
  const Plan plan = c.plan();
  const ClusterSpec base = with_own_parts(c);
  const Explanation e = explain(plan, simulate(plan, make_cluster(base), {Selection::kFastest}));
  const double before = step_of(plan, base);
  const double rounding = 1e-12 * static_cast<double>(op_count(plan) / plan.places_per_stage());
  for (const std::string& resource : resources) {
    double spent = 0;
    for (const Sensitivity& s : e.sensitivity) spent += s.resource == resource ? s.time.value : 0;
    ASSERT_GT(spent, 0) << resource;
    for (const Knob& knob : knobs()) {
      if (knob.resource != resource) continue;
      ClusterSpec better = base;
      knob.improve(better, *better.device);
      const double predicted = spent * (1 - 1 / (1 + kBetter));
      EXPECT_NEAR(before - step_of(plan, better), predicted, 1e-2 * predicted + rounding)
          << resource;
    }
  }
}

/// A model whose kernels are large enough for their rooflines to show.
Case medium_case(std::int64_t pp, std::int64_t dp, std::int64_t fsdp, std::int64_t tp) {
  Case c = small_case(pp, dp, fsdp, tp);
  Model& m = c.model;
  m.hidden = 4096, m.ffn_hidden = 11008, m.heads = m.kv_heads = 32, m.head_dim = 128;
  m.vocab = 32000;
  c.workload.sequence_length = 2048;
  c.workload.global_batch = 4 * dp * fsdp;
  return c;
}

TEST(Sensitivity, PredictsASingleDevice) {
  expect_sensitivities(medium_case(1, 1, 1, 1), {"peak_flops", "memory_bandwidth"});
}
TEST(Sensitivity, PredictsTensorParallelism) {
  expect_sensitivities(medium_case(1, 1, 1, 8),
                       {"peak_flops", "memory_bandwidth", "nvlink_bandwidth"});
}
TEST(Sensitivity, PredictsAPipelineOverNodes) {
  Case c = medium_case(4, 1, 1, 2);
  c.machine.nodes = 4;
  c.machine.devices_per_node = 2;
  expect_sensitivities(
      c, {"peak_flops", "memory_bandwidth", "nvlink_bandwidth", "infiniband_bandwidth"});
}
TEST(Sensitivity, PredictsShardsOverNodes) {
  Case c = medium_case(1, 1, 8, 1);
  c.machine.nodes = 2;
  c.machine.devices_per_node = 4;
  expect_sensitivities(c, {"peak_flops", "memory_bandwidth", "infiniband_bandwidth"});
}

TEST(Explain, APipelineOfKernelsIsComputeAndNothingElseOnItsPath) {
  const Plan plan = equal_stages(Schedule::k1f1b, 4, 1, 8, 1000, 2000);
  const Explanation e = explain(plan, simulate(plan, ideal_machine(4), {}));
  ASSERT_EQ(e.critical_path.size(), 1U);
  EXPECT_EQ(e.critical_path[0].group, "compute");
  EXPECT_EQ(e.critical_path[0].name, "matmul");
  EXPECT_EQ(e.bound_by, "compute");
}

/// When the last pass of a step has ended.
SimTime passes_end(const Plan& plan, const Simulation& sim) {
  SimTime out = 0;
  for (const Track& track : sim.timeline.tracks) {
    const auto stage = static_cast<std::size_t>(track.stage);
    const std::vector<OpSite> ops = flat_ops(plan, stage);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const BlockId block = plan.programs[stage].calls[ops[i].call].block;
      const Phase phase = plan.blocks[block].ops[ops[i].op].phase;
      if (phase <= Phase::kRecompute) out = std::max(out, track.end[i]);
    }
  }
  return out;
}

// The first and the last stage have the vocabulary's gradients to reduce over slow links, the
// others next to nothing: these wait for the norm of all, and not for anything that computes.
TEST(Explain, WhatOthersReduceBehindTheirPassesIsCommunicationForThoseWhoWait) {
  Case c = small_case(4, 2, 1, 1);
  c.model.vocab = 200'000;
  c.strategy.data.overlap = false;
  c.machine.device = find_device("h100-sxm");
  c.machine.device->nvlink_link_bandwidth *= 0.01;
  const Plan plan = c.plan();
  const Simulation sim = simulate(plan, c.cluster(), c.costs());
  const double passes = to_seconds(passes_end(plan, sim)).value;
  const double step = to_seconds(sim.timeline.step_time).value;
  ASSERT_LT(passes, 0.5 * step);
  const Explanation e = explain(plan, sim);
  double bubble = 0, reducing = 0;
  for (const Share& s : e.breakdown) {
    if (s.group == "bubble") bubble += s.time.value;
    if (s.group == "exposed_communication" && s.name == "dp") reducing += s.time.value;
  }
  EXPECT_EQ(e.bound_by, "communication over dp");
  EXPECT_GT(reducing, 0.9 * (step - passes));
  EXPECT_LT(bubble, passes);
}

// 4 stages, 1 microbatch: 3 of 4 parts of the step are bubble.
TEST(Explain, ADeepPipelineOfOneMicrobatchIsBoundByItsBubble) {
  const Plan plan = equal_stages(Schedule::kGpipe, 4, 1, 1, 1000, 2000);
  EXPECT_EQ(explain(plan, simulate(plan, ideal_machine(4), {})).bound_by, "pipeline bubble");
}

}  // namespace plait::explain_test
