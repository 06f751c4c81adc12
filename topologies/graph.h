#pragma once
// The machine as a graph: islands (nodes) of devices, switches and NICs, joined by a fabric. Alike
// islands are kept once; the fabric works out its cables from their numbers. A route between
// islands leaves through a NIC, crosses the fabric and enters through a NIC.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "topologies/cabling.h"
#include "topologies/fault.h"
#include "topologies/island_routes.h"

namespace plait {

/// Islands that are alike.
struct IslandKind {
  Island island;
  IslandRoutes routes;
  std::vector<std::int64_t> devices_per_nic;  // per device: how many its NIC serves
  std::vector<BytesPerSecond> slot_of_nic;    // per device: of its NIC's PCIe link
};

/// The NICs, by their places in their islands, that a route leaves and enters through.
struct Gates {
  std::int64_t exit = 0, entry = 0;
};

struct Graph {
  std::vector<IslandKind> kinds;  // the first one is that of all nodes that are not named below
  std::map<std::int64_t, std::size_t> kind_of_node = {};
  Fabric fabric;
  std::int64_t nodes = 1;
  std::unique_ptr<const Cabling> cabling = {};  // none with one node

  /// From NIC port to NIC port of nodes so close (Cabling::closeness): by exit, then by entry.
  /// Empty where cables are faulty, or where the first node has no other so close.
  std::vector<std::vector<Distance>> crossings = {};
  std::map<std::int64_t, double> cable_factor = {};  // what is left of faulty cables
  std::map<Hop, double> trunk_factor = {};           // and of the trunks that they are in

  const IslandKind& kind(std::int64_t node) const {
    if (kind_of_node.empty()) return kinds[0];
    const auto found = kind_of_node.find(node);
    return kinds[found == kind_of_node.end() ? 0 : found->second];
  }
  /// Nodes of several kinds, or faulty cables: no two groups need look alike.
  bool uneven() const { return kinds.size() > 1 || !cable_factor.empty(); }
  /// So many devices, from each multiple on: groups that lie within, and whose first members have
  /// the same place in their node, look alike; so do routes. 0 where none need.
  std::int64_t run() const { return uneven() ? 0 : size() * (cabling ? cabling->run() : 1); }
  /// What is left of a cable; and of what a trunk carries.
  double factor(std::int64_t cable) const {
    const auto found = cable_factor.find(cable);
    return found == cable_factor.end() ? 1 : found->second;
  }
  double factor_of_trunk(Hop hop) const {
    const auto found = trunk_factor.find(cabling->trunk(hop));
    return found == trunk_factor.end() ? 1 : found->second;
  }
  /// As it works.
  Cable cable(std::int64_t number) const;
  std::int64_t size() const { return static_cast<std::int64_t>(kinds[0].island.devices.size()); }
  std::int64_t nics() const { return static_cast<std::int64_t>(kinds[0].island.nics.size()); }
  std::int64_t pod(std::int64_t node) const { return node / fabric.nodes_per_pod; }
  std::int64_t port(std::int64_t node, std::int64_t nic) const { return node * nics() + nic; }

  /// Where a message between devices of two islands leaves and enters, on the shortest way.
  Gates gates(std::int64_t from, std::int64_t to) const;
  Distance distance(std::int64_t from, std::int64_t to) const;
  /// From NIC port to NIC port of two nodes: over the widest of its ways.
  Distance crossing(std::int64_t from, std::int64_t to) const;
  /// The same, cable by cable.
  Distance walk(std::int64_t from, std::int64_t to) const;
  /// The hops of one of the ways that work, from NIC port to NIC port; `key` modulo their number
  /// says which. Throws InputError C009 when there is none.
  void way(std::int64_t from, std::int64_t to, std::uint64_t key, std::vector<Hop>& hops) const;
};

IslandKind make_kind(Island island, IslandRoutes routes);

struct NodeSpec;    // topologies/families/families.h
struct OtherNodes;  // topologies/families/families.h

/// The islands must connect all of their devices, have NICs if nodes > 1, and as many of both.
std::shared_ptr<const Graph> make_graph(const NodeSpec& node, const Device& device,
                                        const Fabric& fabric, std::int64_t nodes,
                                        const std::vector<OtherNodes>& others,
                                        const std::vector<Fault>& faults);

/// Islands joined by the fabric, every vertex written out. Device d of node k is devices[k * n +
/// d].
struct Machine {
  LinkGraph links;
  std::vector<VertexId> devices;
};
Machine expand(const Graph& graph);

}  // namespace plait
