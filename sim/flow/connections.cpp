#include "sim/flow/connections.h"

#include <algorithm>
#include <map>

#include "costmodel/deepep.h"
#include "plan/collectives/traffic.h"
#include "topologies/graph.h"
#include "topologies/island_paths.h"

namespace plait {
namespace {

using Devices = std::vector<std::int64_t>;

/// Members of each node, in the order of the devices, which go node by node.
std::vector<std::int64_t> members_of_nodes(const Devices& devices, std::int64_t node_size) {
  std::vector<std::int64_t> out;
  std::int64_t last = -1;
  for (const std::int64_t device : devices) {
    if (out.empty() || device / node_size != last) out.push_back(0);
    last = device / node_size, ++out.back();
  }
  return out;
}

/// The devices as ring k goes through them: into each node at its member k, and out at the one
/// before.
Devices entered_at(std::int64_t k, const Devices& devices,
                   const std::vector<std::int64_t>& of_nodes) {
  Devices out;
  out.reserve(devices.size());
  std::int64_t first = 0;
  for (const std::int64_t members : of_nodes) {
    for (std::int64_t i = 0; i < members; ++i)
      out.push_back(devices[static_cast<std::size_t>(first + (k + i) % members)]);
    first += members;
  }
  return out;
}

/// Who sends what to whom, of as many bytes as can be shared out; `per_node`: members of each node.
std::vector<Connection> traffic_among(const Arrangement& arrangement, CollectiveKind kind,
                                      const Devices& devices, std::int64_t per_node) {
  const auto n = static_cast<std::int64_t>(devices.size());
  const std::int64_t shares = is_served(kind) ? arrangement.servers.count : n;
  const Bytes whole(shares * n * per_node * 1024);  // they and channels are equal
  const auto device = [&](std::int64_t place) { return devices[static_cast<std::size_t>(place)]; };
  std::vector<Connection> out;
  std::vector<double> by_switch(devices.size(), 0);  // the larger of what goes up and comes down
  for (const Traffic& t : traffic_of(arrangement, kind, n, whole)) {
    const double share = static_cast<double>(t.bytes.value) / static_cast<double>(whole.value);
    if (t.from == kSwitch || t.to == kSwitch) {
      double& most = by_switch[static_cast<std::size_t>(t.to == kSwitch ? t.from : t.to)];
      most = std::max(most, share);
    } else {
      out.push_back({device(t.from), device(t.to), share});
    }
  }
  // Up from each member and down to the next: every link to a switch carries it once.
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t node = i / per_node * per_node;
    const double most = by_switch[static_cast<std::size_t>(i)];
    if (most > 0) out.push_back({device(i), device(node + (i + 1 - node) % per_node), most});
  }
  return out;
}

/// Over nodes that have different numbers of members, whatever the algorithm: as many rings as the
/// emptiest has members, each with as much of the data.
std::vector<Connection> uneven_rings(CollectiveKind kind, const Devices& devices,
                                     const std::vector<std::int64_t>& of_nodes) {
  const std::int64_t most = std::ranges::min(of_nodes);
  std::vector<Connection> out;
  for (std::int64_t k = 0; k < most; ++k) {
    for (Connection c : traffic_among({}, kind, entered_at(k, devices, of_nodes), 1)) {
      c.share /= static_cast<double>(most);
      out.push_back(c);
    }
  }
  return out;
}

/// As NCCL lays its algorithms out: one channel per NIC of a node, so that all NICs are used.
Arrangement arrangement_of(Algorithm algorithm, CollectiveKind kind, std::int64_t members,
                           std::int64_t per_node) {
  const bool one_node = per_node == members;
  Arrangement out;
  out.members_per_node = per_node;
  out.channels = one_node ? 1 : static_cast<int>(per_node);
  out.chunks = 1;  // how finely it is pipelined changes nothing in the sum
  if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kShift) {
    return {Pattern::kDirect};
  }
  if (algorithm == Algorithm::kTree) out.pattern = Pattern::kTree;
  if (algorithm == Algorithm::kPat) out = {Pattern::kPat};
  if (algorithm == Algorithm::kNvls && one_node) out = {Pattern::kNvls};
  if (algorithm == Algorithm::kNvlsTree && !one_node && per_node > 1) {
    out.pattern = Pattern::kHierarchical;
    out.within = Pattern::kNvls, out.between = Pattern::kTree;
    out.channels = 1;
  }
  return knows(out.pattern, kind) ? out : Arrangement{};
}

/// Between members of a node that have no NVLink, over NVLink by way of another one where that
/// leads.
void pass_on(std::vector<Connection>& connections, const Devices& devices, const Cluster& cluster) {
  const std::int64_t n = cluster.devices_per_node;
  std::map<std::int64_t, Devices> places;  // by node
  for (const std::int64_t d : devices) places[d / n].push_back(d % n);
  std::vector<Connection> out;
  for (const Connection& c : connections) {
    const std::int64_t node = c.from / n;
    const std::int64_t by = c.to / n != node ? -1
                                             : relay_of(cluster.graph->kind(node), c.from % n,
                                                        c.to % n, places.at(node));
    if (by < 0) {
      out.push_back(c);
      continue;
    }
    out.push_back({c.from, node * n + by, c.share});
    out.push_back({node * n + by, c.to, c.share});
  }
  connections = std::move(out);
}

/// As DeepEP's kernels send tokens (costmodel/deepep.h): to each node with one of its experts once,
/// from a device to the one at its place, which hands them on to the ranks of their experts.
std::vector<Connection> once_per_node(const TokenExchange& tokens, const Devices& devices,
                                      const std::vector<std::int64_t>& of_nodes) {
  const std::int64_t n = std::ssize(devices), nodes = std::ssize(of_nodes);
  const auto met = [&](std::int64_t groups) {
    return groups_met(groups, tokens.experts, tokens.chosen) / static_cast<double>(tokens.chosen);
  };
  const double to_node = met(nodes) / static_cast<double>(nodes);
  std::vector<Connection> out;
  std::int64_t first = 0;
  for (const std::int64_t members : of_nodes) {
    const auto at = [&](std::int64_t i) { return devices[static_cast<std::size_t>(first + i)]; };
    for (std::int64_t i = 0; i < members; ++i) {
      for (std::int64_t j = 0; j < members; ++j) {
        if (j != i) out.push_back({at(i), at(j), met(n) / static_cast<double>(members)});
      }
    }
    std::int64_t other = 0;
    for (const std::int64_t there : of_nodes) {
      for (std::int64_t i = 0; other != first && i < there; ++i)
        out.push_back({devices[static_cast<std::size_t>(other + i)], at(i % members), to_node});
      other += there;
    }
    first += members;
  }
  return out;
}

/// In an island of direct links rings and trees go through it in many ways at once, so that what a
/// member sends in it is spread over all of its links, by their bandwidths.
void spread_over_meshes(std::vector<Connection>& connections, const Devices& devices,
                        const std::vector<std::int64_t>& of_nodes, const Cluster& cluster) {
  std::size_t first = 0;
  for (const std::int64_t members : of_nodes) {
    const std::int64_t node = devices[first] / cluster.devices_per_node;
    const std::int64_t base = node * cluster.devices_per_node;
    Devices places;
    for (std::int64_t i = 0; i < members; ++i) places.push_back(devices[first++] - base);
    const std::vector<DirectLink> mesh = mesh_of(cluster.graph->kind(node), places);
    if (mesh.empty()) continue;
    const auto inside = [&](const Connection& c) {
      return c.from / cluster.devices_per_node == node && c.to / cluster.devices_per_node == node;
    };
    std::map<std::int64_t, double> sent, rate;  // by place
    for (const Connection& c : connections) {
      if (inside(c)) sent[c.from - base] += c.share;
    }
    for (const DirectLink& link : mesh) rate[link.from] += link.bandwidth.value;
    std::erase_if(connections, inside);
    for (const DirectLink& link : mesh) {
      const double share = sent[link.from] * link.bandwidth.value / rate[link.from];
      if (share > 0) connections.push_back({base + link.from, base + link.to, share});
    }
  }
}

}  // namespace

WayOfSending way_of_sending(const Collective& op, Algorithm algorithm) {
  WayOfSending out = {algorithm, op.kind};
  if (algorithm == Algorithm::kDeepEp) out.tokens = {op.tokens.chosen, op.tokens.experts};
  return out;
}

std::vector<Connection> connections_of(const WayOfSending& how, const Servers& servers,
                                       std::span<const std::int64_t> devices,
                                       const Cluster& cluster) {
  const CollectiveKind kind = how.kind;
  Devices sorted(devices.begin(), devices.end());   // node by node
  if (!is_served(kind)) std::ranges::sort(sorted);  // servers are known by their places
  const std::vector<std::int64_t> of_nodes = members_of_nodes(sorted, cluster.devices_per_node);
  if (how.algorithm == Algorithm::kDeepEp) return once_per_node(how.tokens, sorted, of_nodes);
  const bool even = std::ranges::count(of_nodes, of_nodes.front()) == std::ssize(of_nodes);
  const std::int64_t per_node = even ? of_nodes.front() : 1;
  Arrangement arrangement = arrangement_of(how.algorithm, kind, std::ssize(sorted), per_node);
  if (is_served(kind)) arrangement = {.pattern = Pattern::kDirect, .servers = servers};
  const Pattern pattern = arrangement.pattern;
  const bool uneven = !even && pattern != Pattern::kDirect;
  std::vector<Connection> out = uneven ? uneven_rings(kind, sorted, of_nodes)
                                       : traffic_among(arrangement, kind, sorted, per_node);
  if (uneven || pattern == Pattern::kRing || pattern == Pattern::kTree)
    spread_over_meshes(out, sorted, of_nodes, cluster);
  if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kShift)
    pass_on(out, sorted, cluster);
  return out;
}

}  // namespace plait
