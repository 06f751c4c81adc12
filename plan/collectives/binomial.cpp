// Binomial tree from place 0: in round t the 2^t members that have the data each send them to the
// member 2^t further on.
#include "plan/collectives/patterns.h"

namespace plait {

Rounds binomial(const Team& team) {
  const std::int64_t i = team.place, n = team.size();
  Rounds rounds;
  for (std::int64_t d = 1; d < n; d *= 2) {
    Round& round = rounds.emplace_back();
    if (i < d && i + d < n) send(round, team.at(i + d), {team.whole});
    if (i >= d && i < 2 * d) receive(round, team.at(i - d), {team.whole});
  }
  return rounds;
}

}  // namespace plait
