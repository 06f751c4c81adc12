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

std::vector<Round> recursive_doubling(std::int64_t members, std::int64_t index,
                                      std::int64_t elements) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(members)));
  const Range all{0, elements};
  if (index >= power) {
    return {{{Direction::kSend, index - power, all, false}},
            {{Direction::kReceive, index - power, all, false}}};
  }
  const bool has_guest = index + power < members;
  std::vector<Round> rounds;
  if (has_guest) rounds.push_back({{Direction::kReceive, index + power, all, true}});
  for (std::int64_t bit = 1; bit < power; bit *= 2) {
    rounds.push_back({{Direction::kSend, index ^ bit, all, false},
                      {Direction::kReceive, index ^ bit, all, true}});
  }
  if (has_guest) rounds.push_back({{Direction::kSend, index + power, all, false}});
  return rounds;
}

}  // namespace plait
