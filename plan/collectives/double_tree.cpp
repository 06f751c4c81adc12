// Two binary trees over the nodes, each for half of the data, in which only one member per node of
// the one is a leaf of the other, so that both directions of all links carry alike (Sanders, Speck
// and Traeff 2009). As NCCL lays them out: inside of a node the members form a chain that hangs
// under the tree; chunks flow up, combined, and down again. A broadcast takes the first tree.
//
// The first tree, over N positions: 0 is the root; the parent of v with lowest bit b is v with b
// cleared and the next bit set, or only cleared where that is beyond the end. Odd positions are
// leaves, depth is at most ceil(log2 N). The second is the first one mirrored (N even) or moved by
// one (N odd): its leaves are the even positions, but for one of an odd N.
//
// All members hold the root's bits.
#include <bit>

#include "plan/collectives/patterns.h"
#include "plan/collectives/pipeline.h"

namespace plait {
namespace {

std::int64_t parent_of(std::int64_t v, std::int64_t positions) {
  const std::int64_t bit = v & -v, cleared = v ^ bit;
  const std::int64_t parent = cleared | (2 * bit);
  return parent < positions ? parent : cleared;
}

/// Positions of a tree over the nodes.
Branch branch_at(std::int64_t v, std::int64_t positions) {
  Branch out;
  if (v > 0) out.parent = parent_of(v, positions);
  for (std::int64_t u = v; u > 0; u = parent_of(u, positions)) ++out.depth;
  for (std::int64_t d = 1; d < positions; d *= 2) {
    for (std::int64_t u : {v - d, v + d}) {
      if (u > 0 && u < positions && parent_of(u, positions) == v) out.children.push_back(u);
    }
  }
  return out;
}

/// Nodes to positions of tree 0 or 1; its own inverse where N is even.
std::int64_t position_of(std::int64_t node, std::int64_t nodes, int tree) {
  if (tree == 0) return node;
  return nodes % 2 == 0 ? nodes - 1 - node : (node + nodes - 1) % nodes;
}
std::int64_t node_at(std::int64_t position, std::int64_t nodes, int tree) {
  if (tree == 0) return position;
  return nodes % 2 == 0 ? nodes - 1 - position : (position + 1) % nodes;
}

/// The tree through the members `head` of the nodes with a chain of g members in each.
Branch branch_of(const Team& team, std::int64_t g, std::int64_t head, int tree) {
  const std::int64_t nodes = team.size() / g, node = team.place / g;
  const auto member = [&](std::int64_t of_node, std::int64_t q) {
    return team.at(of_node * g + (head + q) % g);
  };
  const std::int64_t q = (team.place % g + g - head) % g;  // in the chain
  const Branch between = branch_at(position_of(node, nodes, tree), nodes);
  Branch out{.depth = between.depth + q};
  if (q > 0) {
    out.parent = member(node, q - 1);
  } else {
    out.parent = member(node_at(between.parent, nodes, tree), 0);
    for (std::int64_t c : between.children) {
      out.children.push_back(member(node_at(c, nodes, tree), 0));
    }
  }
  if (q + 1 < g) out.children.push_back(member(node, q + 1));
  return out;
}

}  // namespace

Rounds double_tree(CollectiveKind kind, const Team& team, const Arrangement& arrangement,
                   std::int64_t channel) {
  const std::int64_t g = arrangement.members_per_node;
  const auto depth =
      static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(team.size() / g - 1)));
  const std::int64_t height = depth + g - 1;
  if (kind == CollectiveKind::kBroadcast) {
    return broadcast_down(branch_of(team, g, 0, 0), height, team.whole, arrangement.chunks);
  }
  const auto half = [&](int tree) {
    return reduce_and_broadcast(branch_of(team, g, channel % g, tree), height,
                                part_of(team.whole, 2, tree), arrangement.chunks);
  };
  return beside(half(0), half(1));
}

}  // namespace plait
