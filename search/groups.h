#pragma once
// Where groups of devices lie on the machine; worked out once for each lattice of them. From any
// thread.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
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
  /// Ways of the pipeline through device 0 while all pipelines send, there and back: between each
  /// of its stages and the next, and behind the last, between that and the first. Stages are
  /// `distance` devices apart.
  using Ways = std::vector<std::array<Path, 2>>;
  const Ways& ways(std::int64_t distance, std::int64_t stages);

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
  void find_ways(std::int64_t distance, std::int64_t stages, Ways& out) const;

  std::mutex mutex_;  // of the maps
  std::map<Lattice, Known<GroupPlacement>> groups_;
  std::map<std::pair<std::int64_t, std::int64_t>, Known<std::array<Path, 2>>> ways_;
};

}  // namespace plait
