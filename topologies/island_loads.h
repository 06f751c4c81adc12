#pragma once
// Flows inside one island at the same time, counted link by link: what each has of a link that
// several cross, such as the one between two sockets.

#include <cstdint>
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
  /// `path`, from one device to another, to a device's share of the link where it has least; what
  /// devices have of direct NVLinks is not of one path.
  void divide(std::int64_t from, std::int64_t to, Path& path) const;

 private:
  const IslandRoutes& routes_;
  std::vector<Link> links_;         // by number
  std::vector<double> flows_;       // on each
  std::vector<std::uint32_t> way_;  // of the flow that is added
};

}  // namespace plait
