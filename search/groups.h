#pragma once
// Where the groups of a mesh axis lie on the machine, rank r on device r; worked out once for each
// size and stride. From any thread.

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "topologies/cluster.h"

namespace plait {

class Groups {
 public:
  /// Where ranks are placed otherwise (not `in_order`), nothing is known of their groups: they cost
  /// nothing.
  Groups(const Cluster& cluster, bool in_order);

  const Cluster& cluster() const { return cluster_; }
  bool in_order() const { return in_order_; }
  /// The distinct placements of groups of `size` ranks, `stride` apart.
  const std::vector<GroupPlacement>& of(std::int64_t size, std::int64_t stride);
  /// The distinct routes from a rank to the one `distance` further on.
  const std::vector<Path>& routes(std::int64_t distance);

 private:
  const Cluster& cluster_;
  bool in_order_;
  std::int64_t world_, period_;
  template <class T>
  struct Known {
    std::once_flag once;  // whoever asks first works it out
    std::vector<T> all;
  };
  void place(std::int64_t size, std::int64_t stride, std::vector<GroupPlacement>& out) const;

  std::mutex mutex_;  // of the maps
  std::map<std::pair<std::int64_t, std::int64_t>, Known<GroupPlacement>> groups_;
  std::map<std::int64_t, Known<Path>> routes_;
};

}  // namespace plait
