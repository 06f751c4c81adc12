#pragma once
// Flows inside one island at the same time, counted link by link: what each has of a link that
// several cross, such as the one between two sockets.

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/graph.h"

namespace plait {

class IslandLoads {
 public:
  explicit IslandLoads(const IslandKind& kind);
  /// A flow from one device to another, of so much of what a device sends.
  void add(std::int64_t from, std::int64_t to, double part = 1);
  /// From each of these devices to the next, and from the last to the first.
  void add_ring(const std::vector<std::int64_t>& devices);
  /// From each of these devices to all others alike.
  void add_exchange(const std::vector<std::int64_t>& devices);
  /// The link that leaves least to a device's flow, with what it leaves.
  Link narrowest() const;
  /// From a device to the NIC that serves it, and from that to the device.
  void add_to_nic(std::int64_t device);
  /// What a device has of the link where it has least on these ways.
  BytesPerSecond share_to_nic(std::int64_t device) const;
  /// `path`, from one device to another, to a device's share of the link where it has least; what
  /// devices have of direct NVLinks is not of one path.
  void divide(std::int64_t from, std::int64_t to, Path& path) const;

 private:
  std::vector<std::uint32_t> ways_to_nic(std::int64_t device) const;
  const IslandRoutes& routes_;
  std::vector<Link> links_;         // by number
  std::vector<double> flows_;       // on each
  std::vector<std::uint32_t> way_;  // of the flow that is added
};

/// What the worst of these devices has of its way to its NIC when all of them send and receive;
/// without bound where no way goes through the host.
BytesPerSecond share_through_host(const IslandKind& kind, std::span<const std::int64_t> devices);

}  // namespace plait
