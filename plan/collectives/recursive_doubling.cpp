// Recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.5). Let p be the largest power
// of two with p <= n.
//
//   before  member p + k sends its addend to member k, which adds it (k < n - p)
//   round t member i < p and member i XOR 2^t exchange their sums and add them (t = 0 .. log2 p -
//           1)
//   after   member k sends the sum to member p + k
//
// Before round t the members that differ in the lowest t bits hold the same bits; the two sides of
// an exchange compute a + b and b + a, which are the same bits as well.
#include <bit>

#include "plan/collectives/patterns.h"

namespace plait {

Rounds recursive_doubling(const Team& team) {
  const std::int64_t i = team.place, n = team.size();
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  const Pieces all{team.whole};
  Rounds after;  // before is the same backwards
  if (power < n) {
    Round& round = after.emplace_back();
    if (i + power < n) send(round, team.at(i + power), all);
    if (i >= power) receive(round, team.at(i - power), all);
  }
  Rounds rounds = reversed(after);
  for (std::int64_t bit = 1; bit < power; bit *= 2) {
    Round& round = rounds.emplace_back();
    if (i >= power) continue;
    send(round, team.at(i ^ bit), all);
    receive(round, team.at(i ^ bit), all, true);
  }
  return then(std::move(rounds), after);
}

}  // namespace plait
