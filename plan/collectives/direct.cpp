// Direct: one round, in which every member sends to every other one. Member i begins with member
// i + 1, so that not all of them send to the same one first.
#include "core/error.h"
#include "plan/collectives/patterns.h"

namespace plait {

std::vector<Round> direct(std::int64_t members, std::int64_t index, std::int64_t elements) {
  PLAIT_CHECK(elements % members == 0, "an all_to_all of shares of unequal size");
  Round round;
  for (std::int64_t d = 1; d < members; ++d) {
    const std::int64_t to = (index + d) % members, from = (index + members - d) % members;
    round.push_back({Direction::kSend, to, share_of(elements, members, to), false});
    round.push_back({Direction::kReceive, from, share_of(elements, members, from), false});
  }
  return {round};
}

}  // namespace plait
