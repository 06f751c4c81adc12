// Binomial tree from member 0: in round t the 2^t members that have the data each send them to the
// member 2^t further on.
#include <bit>

#include "plan/collectives/patterns.h"

namespace plait {

std::vector<Round> binomial(std::int64_t members, std::int64_t index, std::int64_t elements) {
  const Range all{0, elements};
  std::vector<Round> rounds;
  const auto parent_distance =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(index)));
  if (index > 0) rounds.push_back({{Direction::kReceive, index - parent_distance, all, false}});
  for (std::int64_t d = index > 0 ? 2 * parent_distance : 1; index + d < members; d *= 2) {
    rounds.push_back({{Direction::kSend, index + d, all, false}});
  }
  return rounds;
}

}  // namespace plait
