#pragma once
// The routes inside one island: shortest-path trees from each device and from each NIC. What leaves
// the island does so through one of its NICs, which lie on rails.

#include <cstdint>
#include <vector>

#include "topologies/distance.h"
#include "topologies/link_graph.h"

namespace plait {

/// Shortest paths from one vertex: per vertex its distance and the number of the last link there.
struct RouteTree {
  std::vector<Distance> distance;
  std::vector<std::uint32_t> last_link;
};

/// Devices begin and end routes and never forward. Links are told by Link::number.
RouteTree routes_from(const LinkGraph& graph, VertexId origin);

/// Numbers the links by the vertex that they leave; returns these.
std::vector<VertexId> number_links(LinkGraph& graph);

/// Devices and NICs are told by their places in the island.
class IslandRoutes {
 public:
  /// Numbers the links of the island. NIC k is on rail k % rails.
  IslandRoutes(Island& island, std::int64_t rails);

  std::int64_t links() const { return static_cast<std::int64_t>(source_.size()); }
  std::int64_t rails() const { return rails_; }
  /// Every device reaches every other.
  bool connected() const;
  const Distance& between(std::int64_t from, std::int64_t to) const;
  const Distance& out(std::int64_t device, std::int64_t nic) const;
  const Distance& in(std::int64_t nic, std::int64_t device) const;

  /// Append the numbers of the links of these routes, in order.
  void walk(std::int64_t from, std::int64_t to, std::vector<std::uint32_t>& links) const;
  void walk_out(std::int64_t device, std::int64_t nic, std::vector<std::uint32_t>& links) const;
  void walk_in(std::int64_t nic, std::int64_t device, std::vector<std::uint32_t>& links) const;

  /// The nearest NIC of a device on a rail, outwards and inwards; its own among equals.
  std::int64_t exit(std::int64_t device, std::int64_t rail) const {
    return at(exit_, device, rail);
  }
  std::int64_t entry(std::int64_t device, std::int64_t rail) const {
    return at(entry_, device, rail);
  }
  /// Of all rails.
  std::int64_t exit(std::int64_t device) const { return at(exit_, device, rails_); }
  std::int64_t entry(std::int64_t device) const { return at(entry_, device, rails_); }

  /// The NIC that serves the device, and its rail.
  std::int64_t nic_of(std::int64_t device) const;
  std::int64_t rail_of(std::int64_t device) const { return nic_of(device) % rails_; }
  /// The device that passes on what this one sends to another rail: it is reached over NVLink and
  /// served by a NIC of that rail. The j-th device of one rail uses the j-th of the other. -1:
  /// none.
  std::int64_t forwarder(std::int64_t device, std::int64_t rail) const;

 private:
  std::int64_t at(const std::vector<std::int32_t>& table, std::int64_t device,
                  std::int64_t rail) const {
    return table[static_cast<std::size_t>(device * (rails_ + 1) + rail)];
  }
  void choose_nics();
  void walk(const RouteTree& tree, VertexId to, std::vector<std::uint32_t>& links) const;

  std::int64_t rails_;
  std::vector<VertexId> devices_, nics_;
  std::vector<std::size_t> nic_of_;
  std::vector<VertexId> source_;  // per link
  std::vector<RouteTree> from_device_, from_nic_;
  std::vector<std::int32_t> exit_, entry_;         // (n, rails + 1): by rail, then of all rails
  std::vector<std::vector<std::int32_t>> served_;  // per rail, the devices that its NICs serve
  std::vector<std::int32_t> order_;                // per device, its place in served_
};

}  // namespace plait
