// Without contention a better machine is never slower: starts are maxima of sums of durations, and
// with the collectives that a perfect tuner takes no duration grows with a rate. Where collectives
// slow kernels down this does not hold: faster links may have more channels, which hold more
// multiprocessors, and a faster collective may move beside a kernel that others wait for.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/simulate.h"
#include "tests/sim/draw.h"

namespace plait::monotone_test {

/// Rates that the catalogue's machines have, each in its own part.
struct DrawnMachine {
  ClusterSpec spec;
  explicit DrawnMachine(const Case& c) : spec(c.machine) {
    spec.own_node = find_node(spec.preset);
    spec.device = find_device(spec.own_node->device);
    spec.device->launch_overhead *= c.launch;
    spec.own_fabric = find_fabric(spec.fabric);
  }
  SimTime step(const Case& c, const Plan& plan, Selection selection = Selection::kFastest) const {
    SimulationOptions options;
    options.record = false;
    options.interference = false;
    options.placement = c.placement;
    return simulate(plan, make_cluster(spec), {selection}, options).timeline.step_time;
  }
};

RC_GTEST_PROP(Monotone, AFasterDeviceIsNeverSlower, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  DrawnMachine m(c);
  const SimTime before = m.step(c, plan);
  Device& d = *m.spec.device;
  const auto factor = [] { return 1 + static_cast<double>(pick(0, 40)) / 20; };
  const double flops = factor();
  d.peak_bf16 *= flops, d.peak_fp16 *= flops, d.peak_fp32 *= flops, d.vector_fp32 *= flops;
  d.memory_bandwidth *= factor();
  d.launch_overhead *= 1 / factor();
  RC_ASSERT(m.step(c, plan) <= before);
}

// All links of a machine by one factor, so that the narrowest link of a route stays the same one.
RC_GTEST_PROP(Monotone, FasterLinksAreNeverSlower, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  DrawnMachine m(c);
  const SimTime before = m.step(c, plan);
  const double k = 1 + static_cast<double>(pick(1, 40)) / 20;
  m.spec.device->nvlink_link_bandwidth *= k, m.spec.device->pcie_bandwidth *= k;
  m.spec.device->host_bandwidth *= k;
  m.spec.own_node->pcie_bandwidth *= k, m.spec.own_node->socket_bandwidth *= k;
  m.spec.own_fabric->bandwidth *= k, m.spec.own_fabric->bus_bandwidth *= k;
  const SimTime after = m.step(c, plan);
  RC_LOG() << before << " before, " << after << " after " << k << "\n";
  RC_ASSERT(after <= before);
}

RC_GTEST_PROP(Monotone, APerfectTunerIsNeverSlowerThanNccl, ()) {
  const Case c = RandomCase(pick).draw();
  RC_LOG() << c << "\n";
  const Plan plan = c.plan();
  const DrawnMachine m(c);
  RC_ASSERT(m.step(c, plan, Selection::kFastest) <= m.step(c, plan, Selection::kNccl));
}

}  // namespace plait::monotone_test
