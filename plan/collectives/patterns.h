#pragma once
// The patterns behind `rounds_of`, one file each, over a team of at least two members.

#include "plan/collectives/team.h"

namespace plait {

/// The order in which a ring of channel `channel` passes the members.
std::vector<std::int64_t> ring_order(std::int64_t members, std::int64_t members_per_node,
                                     std::int64_t channel);
Rounds ring(CollectiveKind kind, const Team& team, std::int64_t chunks);
Rounds double_tree(CollectiveKind kind, const Team& team, const Arrangement& arrangement,
                   std::int64_t channel);
Rounds binomial(const Team& team);
Rounds recursive_doubling(const Team& team);
Rounds halving_doubling(CollectiveKind kind, const Team& team);
Rounds pat(CollectiveKind kind, const Team& team, std::int64_t most_shares);
Rounds nvls(CollectiveKind kind, const Team& team);
Rounds one_shot(const Team& team);
/// `elements` of the input of an all_to_all.
Rounds direct(CollectiveKind kind, const Team& team, std::int64_t elements);
/// push and pull.
Rounds served(CollectiveKind kind, const Team& team, const Servers& servers);
Rounds pairwise(const Team& team, std::int64_t elements);
Rounds hierarchical(CollectiveKind kind, const Team& team, const Arrangement& arrangement,
                    std::int64_t channel, std::int64_t elements);

/// Throws InternalError where a collective cannot be arranged so.
void check(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
           std::int64_t elements);
/// The whole group as channel `channel` sees it.
Team channel_team(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                  std::int64_t index, std::int64_t elements, std::int64_t channel);
/// Any of them; none for a team of one.
Rounds rounds_in(Pattern pattern, CollectiveKind kind, const Team& team,
                 const Arrangement& arrangement, std::int64_t channel, std::int64_t elements);
/// `rounds_of` with the rounds and transfers that turn out to be empty.
Rounds all_rounds(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                  std::int64_t index, std::int64_t elements);

}  // namespace plait
