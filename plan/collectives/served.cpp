// Push and pull of parameter servers (Li et al. 2014, section 3.1): every worker sends each server
// the share that it keeps, the server adds them; and the way back. All at once, so that a server
// with w other workers has w messages coming in at the same time. Worker i begins with the server
// that keeps share i (mod servers), so that not all of them send to the same one first.
#include "plan/collectives/patterns.h"

namespace plait {
namespace {

/// As a pull; a push is the same backwards.
Round pull_of(const Team& team, const Servers& servers) {
  const std::int64_t n = team.size(), i = team.place;
  const Shares share = parts_of(team.whole, servers.count);
  Round all;
  if (const std::int64_t own = servers.share_of(n, i); own >= 0) {
    for (std::int64_t d = 1; d < n; ++d) {
      const std::int64_t to = (i + d) % n;
      if (servers.works(n, to)) send(all, team.at(to), share(own));
    }
  }
  if (!servers.works(n, i)) return all;
  for (std::int64_t d = 0; d < servers.count; ++d) {
    const std::int64_t s = (i + d) % servers.count, from = servers.member_of(n, s);
    if (from != i) receive(all, team.at(from), share(s));
  }
  return all;
}

}  // namespace

Rounds served(CollectiveKind kind, const Team& team, const Servers& servers) {
  const Rounds pull = {pull_of(team, servers)};
  return kind == CollectiveKind::kPull ? pull : reversed(pull);
}

}  // namespace plait
