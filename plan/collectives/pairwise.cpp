// Pairwise exchange (Thakur, Rabenseifner and Gropp 2005, section 4.4): in round t = 1 .. n-1
// member i sends to i + t and receives from i - t. Everyone sends one message and receives one.
#include "plan/collectives/patterns.h"

namespace plait {

Rounds pairwise(const Team& team, std::int64_t elements) {
  const std::int64_t i = team.place;
  Rounds rounds;
  for (std::int64_t t = 1; t < team.size(); ++t) {
    Round& round = rounds.emplace_back();
    send(round, team.at(i + t), team.share(i + t));
    receive(round, team.at(i - t), moved(team.share(i - t), elements));
  }
  return rounds;
}

}  // namespace plait
