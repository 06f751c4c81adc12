// Ring: each member sends to the next one and receives from the one before (Patarasuk and Yuan
// 2009, section 3).
//
//   reduce_scatter, round t = 0 .. n-2: member i sends share i - t - 1 and adds the arriving share
//                   i - t - 2 to its own; the last to arrive is share i, with all n terms
//   all_gather,     round t = 0 .. n-2: member i sends share i - t and receives share i - t - 1
//   all_reduce      the one after the other
//
// Each share is summed along one chain and then copied, so all members hold the same bits.
#include "plan/collectives/patterns.h"

namespace plait {
namespace {

void append_half(std::vector<Round>& rounds, bool combine, std::int64_t members, std::int64_t index,
                 std::int64_t elements) {
  const std::int64_t n = members;
  const auto share = [&](std::int64_t i) { return share_of(elements, n, (i + 2 * n) % n); };
  const std::int64_t ahead = combine ? 1 : 0;
  for (std::int64_t t = 0; t + 1 < n; ++t) {
    rounds.push_back(
        {{Direction::kSend, (index + 1) % n, share(index - t - ahead), false},
         {Direction::kReceive, (index + n - 1) % n, share(index - t - ahead - 1), combine}});
  }
}

}  // namespace

std::vector<Round> ring(CollectiveKind kind, std::int64_t members, std::int64_t index,
                        std::int64_t elements) {
  std::vector<Round> rounds;
  if (kind != CollectiveKind::kAllGather) append_half(rounds, true, members, index, elements);
  if (kind != CollectiveKind::kReduceScatter) append_half(rounds, false, members, index, elements);
  return rounds;
}

}  // namespace plait
