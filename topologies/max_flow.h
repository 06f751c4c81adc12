#pragma once
// Maximum flow from one vertex to another, and the minimum cut that limits it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plait {

struct Arc {
  std::size_t from = 0, to = 0;
  std::int64_t capacity = 0;
};

struct MaxFlow {
  std::int64_t value = 0;
  /// Per vertex: whether more could still flow to it from the source. The arcs that leave this set
  /// are a minimum cut, the one nearest to the source.
  std::vector<bool> source_side;
};

/// Push-relabel (Goldberg and Tarjan, JACM 1988) on vertices 0 .. vertices - 1. Parallel arcs add
/// up; capacities are not negative.
MaxFlow max_flow(std::size_t vertices, std::span<const Arc> arcs, std::size_t source,
                 std::size_t sink);

}  // namespace plait
