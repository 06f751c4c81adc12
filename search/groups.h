#pragma once
// Where groups of devices lie on the machine; worked out once for each lattice of them. From any
// thread.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "search/lattice.h"
#include "topologies/cluster.h"

namespace plait {

class Groups {
 public:
  /// Where it is not `known` how ranks are placed, their groups cost nothing.
  Groups(const Cluster& cluster, bool known);

  const Cluster& cluster() const { return cluster_; }
  bool known() const { return known_; }
  /// The distinct placements of groups of that shape.
  const std::vector<GroupPlacement>& of(const Lattice& lattice);
  /// The distinct routes from a device to the one `distance` further on.
  const std::vector<Path>& routes(std::int64_t distance);

 private:
  const Cluster& cluster_;
  bool known_;
  std::int64_t world_, period_;
  template <class T>
  struct Known {
    std::once_flag once;  // whoever asks first works it out
    std::vector<T> all;
  };
  void place(const Lattice& lattice, std::vector<GroupPlacement>& out) const;

  std::mutex mutex_;  // of the maps
  std::map<Lattice, Known<GroupPlacement>> groups_;
  std::map<std::int64_t, Known<Path>> routes_;
};

}  // namespace plait
