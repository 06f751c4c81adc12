// Direct: every member sends to every other one at once. Member i begins with member i + 1, so that
// not all of them send to the same one first.
//
//   all_gather      everyone's share to everyone
//   reduce_scatter  an all_gather reversed: each one's share to its owner, who adds them
//   all_reduce      "two-shot": the one after the other; each share is summed once and copied, so
//                   all members hold the same bits
//   all_to_all      the rounds of the pairwise exchange, all at once
//   shift           everything to the next member
#include "plan/collectives/patterns.h"

namespace plait {

Rounds direct(CollectiveKind kind, const Team& team, std::int64_t elements) {
  Round all;
  if (kind == CollectiveKind::kAllToAll) {
    for (const Round& r : pairwise(team, elements)) all.insert(all.end(), r.begin(), r.end());
    return {all};
  }
  const std::int64_t i = team.place;
  if (kind == CollectiveKind::kShift) {
    send(all, team.at(i + 1), {team.whole});
    receive(all, team.at(i - 1), moved({team.whole}, elements));
    return {all};
  }
  for (std::int64_t d = 1; d < team.size(); ++d) {
    send(all, team.at(i + d), team.share(i));
    receive(all, team.at(i - d), team.share(i - d));
  }
  return from_gather(kind, {all});
}

}  // namespace plait
