// Push and pull of parameter servers. With w workers, k servers and M bytes of parameters, each on
// a node of its own with a link of B bytes per second (Jiang et al. 2020, BytePS, section 3.1; Li
// et al. 2014, section 3.1):
//
//   worker      M / B            sends all of its gradients once
//   server      w M / (k B)      has a share from each worker: incast
//   push, pull  the longer of the two, which is the server where k < w
//
// A step pushes and pulls: 2 w M / (k B) against 2 (n - 1) / n M / B of a ring all_reduce, which
// colocated servers reach where every rank is one (what a server has of itself does not travel).
// Here M is divided by where servers are: what stays in a node takes its links, at the same time.
#include <algorithm>

#include "costmodel/collectives.h"
#include "costmodel/transfer.h"
#include "topologies/cluster.h"

namespace plait {
namespace {

/// Who is where, on a node of the busiest server.
struct Crowd {
  double local = 0, remote = 0;  // workers besides itself
  double servers = 1;            // on its node
  double away = 0;               // of a worker's bytes, what leaves its node
};

Crowd crowd_of(const Servers& servers, const GroupPlacement& group) {
  const std::int64_t n = group.ranks, per_node = group.ranks_per_node, k = servers.count;
  const std::int64_t workers = servers.workers(n);
  Crowd out;
  if (servers.dedicated) {  // the last ranks
    const std::int64_t beside = std::min(std::max<std::int64_t>(per_node - k, 0), workers);
    out.local = static_cast<double>(group.nodes == 1 ? workers : beside);
    out.servers = static_cast<double>(std::min(k, per_node));
    out.away = group.nodes == 1 ? 0 : 1;
  } else {
    out.local = static_cast<double>(per_node - 1);
    out.servers = static_cast<double>(ceil_div(k, group.nodes));
    const std::int64_t fewest_here = k / group.nodes;
    out.away = 1 - static_cast<double>(fewest_here) / static_cast<double>(k);
  }
  const double others = static_cast<double>(workers - (servers.dedicated ? 0 : 1));
  out.remote = others - out.local;
  return out;
}

Bytes times(Bytes bytes, double factor) {
  return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value) * factor));
}

const Cost& longer(const Cost& a, const Cost& b) { return a.total() < b.total() ? b : a; }

}  // namespace

CollectiveCost push_pull_cost(Bytes bytes, const Servers& servers, const GroupPlacement& group,
                              const Cluster& cluster) {
  if (group.ranks <= 1 || bytes.value == 0) return {};
  const Crowd crowd = crowd_of(servers, group);
  const double share = 1 / static_cast<double>(servers.count);
  Cost cost;
  if (crowd.local > 0) cost = message_cost(times(bytes, crowd.local * share), group.intra);
  if (group.nodes > 1) {
    // A server has its whole route to itself, but for the servers on the same NIC.
    Path in = route(cluster, 0, cluster.devices_per_node);
    const double on_a_nic = std::max(1.0, in.carried() / group.inter.carried());
    const double nics = std::max(1.0, static_cast<double>(group.ranks_per_node) / on_a_nic);
    in.bandwidth = in.bandwidth / std::max(1.0, crowd.servers / nics);
    cost = longer(cost, message_cost(times(bytes, crowd.remote * share), in));
    cost = longer(cost, message_cost(times(bytes, crowd.away), group.inter));
  }
  return {cost, Algorithm::kDirect, Protocol::kSimple};
}

}  // namespace plait
