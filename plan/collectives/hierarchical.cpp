// Hierarchical: N nodes of g members each; member (m, j) is local member j of node m.
//
//   all_reduce      reduce_scatter within each node; all_reduce of share j between the nodes'
//                   members j; all_gather within each node
//   all_gather      between the nodes' members j, of their shares; then within each node, where
//                   (m, j) brings the shares of all members j
//   reduce_scatter  an all_gather reversed
//   all_to_all      within each node (m, j) hands (m, k) what it has for all members k, of whatever
//                   node; then (m, k) sends (m', k) what its node has for it
//
// Patterns within and between are the arrangement's; an all_to_all takes one round for each.
#include <algorithm>

#include "core/error.h"
#include "plan/collectives/patterns.h"

namespace plait {
namespace {

Arrangement one_per_node(Arrangement arrangement) {
  arrangement.members_per_node = 1;
  return arrangement;
}

/// The nodes as a member sees them.
struct Nodes {
  const Team& team;
  const Arrangement& arrangement;
  std::int64_t channel, elements;
  std::int64_t g = arrangement.members_per_node;
  std::int64_t count = team.size() / g;
  std::int64_t node = team.place / g, local = team.place % g;
  Arrangement flat = one_per_node(arrangement);  // of teams within or between

  Rounds within(CollectiveKind kind, const Shares& shares, Range whole) const {
    const std::vector<std::int64_t> order = ring_order(g, g, channel);
    Team t{.whole = whole};
    for (std::int64_t j : order) t.members.push_back(team.at(node * g + j));
    t.shares = [&](std::int64_t p) { return shares(order[static_cast<std::size_t>(p)]); };
    t.place = std::ranges::find(order, local) - order.begin();
    return rounds_in(arrangement.within, kind, t, flat, channel, elements);
  }
  Rounds between(CollectiveKind kind, const Shares& shares, Range whole) const {
    Team t{.shares = shares, .whole = whole, .place = node};
    for (std::int64_t m = 0; m < count; ++m) t.members.push_back(team.at(m * g + local));
    return rounds_in(arrangement.between, kind, t, flat, channel, elements);
  }
};

Rounds all_reduce(const Nodes& nodes) {
  const Range whole = nodes.team.whole, own = part_of(whole, nodes.g, nodes.local);
  const Shares shares = parts_of(whole, nodes.g);
  Rounds rounds = nodes.within(CollectiveKind::kReduceScatter, shares, whole);
  rounds = then(std::move(rounds),
                nodes.between(CollectiveKind::kAllReduce, parts_of(own, nodes.count), own));
  return then(std::move(rounds), nodes.within(CollectiveKind::kAllGather, shares, whole));
}

Rounds gather_or_scatter(CollectiveKind kind, const Nodes& nodes) {
  const auto of_all_nodes = [&](std::int64_t j) {
    Pieces out;
    for (std::int64_t m = 0; m < nodes.count; ++m) append(out, nodes.team.share(m * nodes.g + j));
    return out;
  };
  const auto of_place = [&](std::int64_t m) { return nodes.team.share(m * nodes.g + nodes.local); };
  const Rounds within = nodes.within(kind, of_all_nodes, {});
  const Rounds between = nodes.between(kind, of_place, {});
  return kind == CollectiveKind::kAllGather ? then(between, within) : then(within, between);
}

/// What comes for others of the own place waits in the third part of the buffer: from (m, k) for
/// (m', j) in the place of (m', k).
Rounds all_to_all(const Nodes& nodes) {
  const Team& team = nodes.team;
  const std::int64_t g = nodes.g, j = nodes.local, m = nodes.node;
  const auto input = [&](std::int64_t node, std::int64_t k) { return team.share(node * g + k); };
  const auto output = [&](std::int64_t node, std::int64_t k) {
    return moved(input(node, k), nodes.elements);
  };
  const auto waiting = [&](std::int64_t node, std::int64_t k) {
    return moved(input(node, k), 2 * nodes.elements);
  };
  Rounds rounds(2);
  for (std::int64_t d = 1; d < g; ++d) {
    const std::int64_t to = (j + d) % g, from = (j + g - d) % g;
    for (std::int64_t node = 0; node < nodes.count; ++node) {
      send(rounds[0], team.at(m * g + to), input(node, to));
      receive(rounds[0], team.at(m * g + from),
              node == m ? output(node, from) : waiting(node, from));
    }
  }
  for (std::int64_t d = 1; d < nodes.count; ++d) {
    const std::int64_t to = (m + d) % nodes.count, from = (m + nodes.count - d) % nodes.count;
    for (std::int64_t k = 0; k < g; ++k) {
      send(rounds[1], team.at(to * g + j), k == j ? input(to, k) : waiting(to, k));
      receive(rounds[1], team.at(from * g + j), output(from, k));
    }
  }
  return rounds;
}

}  // namespace

Rounds hierarchical(CollectiveKind kind, const Team& team, const Arrangement& arrangement,
                    std::int64_t channel, std::int64_t elements) {
  for (Pattern part : {arrangement.within, arrangement.between}) {
    PLAIT_CHECK(part != Pattern::kHierarchical, "a hierarchy in a hierarchy");
  }
  const Nodes nodes{team, arrangement, channel, elements};
  switch (kind) {
    case CollectiveKind::kAllReduce: return all_reduce(nodes);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return gather_or_scatter(kind, nodes);
    case CollectiveKind::kAllToAll: return all_to_all(nodes);
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kShift:
    case CollectiveKind::kBroadcast: break;
  }
  return {};
}

}  // namespace plait
