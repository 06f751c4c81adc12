// One shot: every member sends its whole addend to every other one and adds what arrives: the
// fewest rounds, and the most bytes. Each member adds in an order of its own, beginning with its
// own addend, so with three members and more the last bits of floating-point sums may differ.
#include "plan/collectives/patterns.h"

namespace plait {

Rounds one_shot(const Team& team) {
  Round all;
  for (std::int64_t d = 1; d < team.size(); ++d) {
    send(all, team.at(team.place + d), {team.whole});
    receive(all, team.at(team.place - d), {team.whole}, true);
  }
  return {all};
}

}  // namespace plait
