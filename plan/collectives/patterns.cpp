#include "plan/collectives/patterns.h"

#include <algorithm>

#include "core/error.h"

namespace plait {

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::kRing: return "ring";
    case Pattern::kTree: return "tree";
    case Pattern::kHalvingDoubling: return "halving_doubling";
    case Pattern::kRecursiveDoubling: return "recursive_doubling";
    case Pattern::kOneShot: return "one_shot";
    case Pattern::kDirect: return "direct";
    case Pattern::kPairwise: return "pairwise";
    case Pattern::kBinomial: return "binomial";
    case Pattern::kPat: return "pat";
    case Pattern::kNvls: return "nvls";
    case Pattern::kHierarchical: return "hierarchical";
  }
  return "";
}

bool knows(Pattern pattern, CollectiveKind kind) {
  if (kind == CollectiveKind::kShift || is_served(kind)) return pattern == Pattern::kDirect;
  const bool broadcast = kind == CollectiveKind::kBroadcast;
  const bool all_to_all = kind == CollectiveKind::kAllToAll;
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  switch (pattern) {
    case Pattern::kRing: return !all_to_all;
    case Pattern::kTree: return all_reduce || broadcast;
    case Pattern::kRecursiveDoubling:
    case Pattern::kOneShot: return all_reduce;
    case Pattern::kDirect:
    case Pattern::kHierarchical: return !broadcast;
    case Pattern::kPairwise: return all_to_all;
    case Pattern::kBinomial: return broadcast;
    case Pattern::kPat: return !broadcast && !all_to_all && !all_reduce;
    case Pattern::kHalvingDoubling:
    case Pattern::kNvls: return !broadcast && !all_to_all;
  }
  return false;
}

void check(const Arrangement& a, CollectiveKind kind, std::int64_t members, std::int64_t elements) {
  PLAIT_CHECK(knows(a.pattern, kind), "a collective in a pattern that does not know it");
  PLAIT_CHECK(members > 0 && elements >= 0, "a collective of nobody");
  PLAIT_CHECK(a.channels > 0 && a.chunks > 0 && a.most_shares >= 0, "an arrangement of nothing");
  PLAIT_CHECK(a.members_per_node > 0 && members % a.members_per_node == 0,
              "a group that does not fill its nodes");
  PLAIT_CHECK(is_served(kind) == a.servers.any() && a.servers.count <= members,
              "a push or pull needs servers, nothing else does");
  PLAIT_CHECK(kind != CollectiveKind::kAllToAll || elements % members == 0,
              "an all_to_all of shares of unequal size");
}

Team channel_team(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                  std::int64_t index, std::int64_t elements, std::int64_t channel) {
  const bool rotates = arrangement.pattern == Pattern::kRing;
  const bool by_member = kind == CollectiveKind::kAllGather ||
                         kind == CollectiveKind::kReduceScatter ||
                         kind == CollectiveKind::kAllToAll;
  Team team;
  team.members =
      ring_order(members, rotates ? arrangement.members_per_node : 1, rotates ? channel : 0);
  team.whole = share_of(elements, arrangement.channels, channel);
  team.place = std::ranges::find(team.members, index) - team.members.begin();
  team.shares = parts_of(team.whole, members);
  if (by_member) {
    team.shares = [=, order = team.members, channels = arrangement.channels](std::int64_t p) {
      const std::int64_t member = order[static_cast<std::size_t>(p)];
      return Pieces{part_of(share_of(elements, members, member), channels, channel)};
    };
  }
  return team;
}

Rounds rounds_in(Pattern pattern, CollectiveKind kind, const Team& team,
                 const Arrangement& arrangement, std::int64_t channel, std::int64_t elements) {
  PLAIT_CHECK(knows(pattern, kind), "a collective in a pattern that does not know it");
  if (team.size() == 1) return {};
  switch (pattern) {
    case Pattern::kRing: return ring(kind, team, arrangement.chunks);
    case Pattern::kTree: return double_tree(kind, team, arrangement, channel);
    case Pattern::kHalvingDoubling: return halving_doubling(kind, team);
    case Pattern::kRecursiveDoubling: return recursive_doubling(team);
    case Pattern::kOneShot: return one_shot(team);
    case Pattern::kDirect:
      return is_served(kind) ? served(kind, team, arrangement.servers)
                             : direct(kind, team, elements);
    case Pattern::kPairwise: return pairwise(team, elements);
    case Pattern::kBinomial: return binomial(team);
    case Pattern::kPat: return pat(kind, team, arrangement.most_shares);
    case Pattern::kNvls: return nvls(kind, team);
    case Pattern::kHierarchical: return hierarchical(kind, team, arrangement, channel, elements);
  }
  return {};
}

Rounds all_rounds(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                  std::int64_t index, std::int64_t elements) {
  check(arrangement, kind, members, elements);
  PLAIT_CHECK(index >= 0 && index < members, "a member outside of its group");
  Rounds rounds;
  for (std::int64_t k = 0; k < arrangement.channels; ++k) {
    const Team team = channel_team(arrangement, kind, members, index, elements, k);
    rounds = beside(std::move(rounds),
                    rounds_in(arrangement.pattern, kind, team, arrangement, k, elements));
  }
  return rounds;
}

}  // namespace plait
