// Parameter servers in time: incast at few servers, on the analytic network and on links that all
// messages share, and what staleness hides.
#include <gtest/gtest.h>

#include "sim/simulate.h"
#include "topologies/catalogue.h"
#include "topologies/network.h"

namespace plait::parameter_server_test {

/// Machines of one GPU on 100 Gb/s.
Cluster machines(std::int64_t n) {
  ClusterSpec spec;
  spec.preset = "dgx-v100", spec.fabric = "roce100";
  spec.nodes = n, spec.devices_per_node = 1;
  return make_cluster(spec);
}

constexpr std::int64_t kWorkers = 8;

struct Served {
  Plan plan;
  Simulation simulation;
  double seconds() const { return to_seconds(simulation.timeline.step_time).value; }
};
/// Large weights and few tokens: sending takes longer than computing by `heavy`.
Served run(ParameterServerOptions servers, bool shared_links = false, std::int64_t tokens = 64,
           bool overlap = true) {
  Model m;
  m.layers = 4, m.hidden = 1024, m.ffn_hidden = 4096, m.vocab = 1024;
  m.heads = m.kv_heads = 8, m.head_dim = 128;
  Workload w;
  w.sequence_length = tokens, w.global_batch = kWorkers, w.gradient_clipping = false;
  Strategy s;
  s.parameter_server = servers, s.data.overlap = overlap;
  const std::int64_t ranks = kWorkers + (servers.dedicated ? servers.servers : 0);
  s.mesh[Axis::kDp] = ranks;
  const Cluster cluster = machines(ranks);
  SimulationOptions options;
  if (shared_links) options.network = make_network(cluster);
  options.interference = false;
  Served out{make_plan(m, w, s), {}};
  out.simulation = simulate(out.plan, cluster, {}, options);
  return out;
}
/// From the first push's start to the last one's end, on the first rank.
double pushing(const Served& r) {
  const Track& t = r.simulation.timeline.tracks.at(0);
  SimTime sum = 0;
  std::size_t flat = 0;
  for (const Call& call : r.plan.programs[0].calls) {
    for (const Op& op : r.plan.blocks[call.block].ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c != nullptr && c->kind == CollectiveKind::kPush) sum += t.end[flat] - t.start[flat];
      ++flat;
    }
  }
  return to_seconds(sum).value;
}

TEST(ParameterServers, PushesTakeWorkersOverServersTimesAsLong) {
  for (const bool shared : {false, true}) {
    const double all = pushing(run({.servers = kWorkers, .dedicated = true}, shared, 64, false));
    for (const std::int64_t k : {1, 2, 4}) {
      const double few = pushing(run({.servers = k, .dedicated = true}, shared, 64, false));
      EXPECT_NEAR(few / all, static_cast<double>(kWorkers) / static_cast<double>(k),
                  0.03 * kWorkers / static_cast<double>(k))
          << k << (shared ? " on shared links" : "");
    }
  }
}

TEST(ParameterServers, TheAnalyticNetworkAgreesWithSharedLinksWhereNothingElseTravels) {
  for (const bool dedicated : {false, true}) {
    for (const std::int64_t k : {1, 2, 8}) {
      const ParameterServerOptions servers{.servers = k, .dedicated = dedicated};
      const double a = run(servers, false, 64, false).seconds();
      const double b = run(servers, true, 64, false).seconds();
      EXPECT_NEAR(a / b, 1, 0.01) << k << (dedicated ? " dedicated" : "");
    }
  }
}

TEST(ParameterServers, RanksFoldIntoRoles) {
  const Served r = run({.servers = 2, .dedicated = true});
  EXPECT_EQ(r.simulation.rank_classes, 2);
  EXPECT_EQ(run({.servers = kWorkers}).simulation.rank_classes, 1);
}

TEST(ParameterServers, AServerDoesNotComputeWhatWorkersDo) {
  const Served r = run({.servers = 1, .dedicated = true});
  for (const Track& t : r.simulation.timeline.tracks) {
    const Role role = role_of(r.plan, t.rank);
    std::size_t flat = 0;
    for (const Call& call : r.plan.programs[0].calls) {
      for (const Op& op : r.plan.blocks[call.block].ops) {
        const Compute* c = std::get_if<Compute>(&op.body);
        const SimTime took = t.end[flat] - t.start[flat];
        if (c != nullptr) {
          EXPECT_EQ(took > 0, runs_on(r.plan, op, role)) << name_of(op);
        }
        ++flat;
      }
    }
  }
}

// What staleness hides is bounded by what there is to hide it behind.
TEST(ParameterServers, StalenessHidesSendingBehindComputing) {
  for (const std::int64_t tokens : {64, 1024, 4096}) {
    for (const bool shared : {false, true}) {
      ParameterServerOptions servers{.servers = 4};
      const Served fresh = run(servers, shared, tokens);
      servers.staleness = 1;
      const Served stale = run(servers, shared, tokens);
      EXPECT_LT(stale.seconds(), fresh.seconds()) << tokens;
      EXPECT_GE(stale.seconds(), pushing(stale)) << tokens;
      EXPECT_GE(stale.seconds(), fresh.seconds() - pushing(fresh)) << tokens;
    }
  }
}

}  // namespace plait::parameter_server_test
