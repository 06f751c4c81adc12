// Parallel aggregated trees (PAT, NCCL 2.23; Jeaugey 2025, "PAT: a new algorithm for all-gather and
// reduce-scatter operations at scale"). Each share spreads along a binomial tree of its own: offset
// x > 0 from its owner gets it from offset x - lowest bit of x. All members send over the same
// distance in the same round, all shares that are due in one message, far ones first, while there
// is least to send:
//
//   all_gather, distance d = 2^(L-1) .. 2, 1 with L = ceil(log2 n): member i sends member i + d the
//                   shares of members i - x, for x = 0, 2d, 4d, .. with x + d < n
//
// With at most B = 2^b shares at a time only the first b distances go like that. They leave B trees
// of U = 2^(L-b) offsets each, which are then walked in step, one offset u = 1 .. U-1 per round, so
// that a member keeps at most B (1 + log2 U) shares that it has yet to pass on, however large n is.
//
//   reduce_scatter  an all_gather reversed
#include <algorithm>
#include <bit>

#include "plan/collectives/patterns.h"

namespace plait {
namespace {

/// Every member sends over distance d the shares at offsets first, first + stride, ...
Round step(const Team& team, std::int64_t d, std::int64_t first, std::int64_t stride) {
  Round round;
  for (std::int64_t x = first; x + d < team.size(); x += stride) {
    send(round, team.at(team.place + d), team.share(team.place - x));
    receive(round, team.at(team.place - d), team.share(team.place - d - x));
  }
  return round;
}

}  // namespace

Rounds pat(CollectiveKind kind, const Team& team, std::int64_t most_shares) {
  const auto span =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(team.size())));
  const std::int64_t limit = most_shares == 0 ? span : std::min(most_shares, span);
  const std::int64_t unit =
      span / static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(limit)));
  Rounds gather;
  for (std::int64_t d = span / 2; d >= unit; d /= 2) gather.push_back(step(team, d, 0, 2 * d));
  for (std::int64_t u = 1; u < unit; ++u) {
    const std::int64_t d = u & -u;
    gather.push_back(step(team, d, u - d, unit));
  }
  return from_gather(kind, gather);
}

}  // namespace plait
