#pragma once
// What a collective moves between each two of its members: the rounds summed over time. A network
// that shares its links fluidly needs no more of a collective than this.

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "plan/collectives/rounds.h"

namespace plait {

/// All bytes of a collective that `from` sends to `to`: places in the group.
struct Traffic {
  std::int64_t from = 0, to = 0;
  Bytes bytes;
};

/// The traffic of a collective of `bytes` (nccl-tests' S), by (from, to) ascending, each pair once,
/// none of no bytes. Shares are cut at bytes, as those of `rounds_of` at elements. A pattern of n
/// members costs time in proportion to its messages, a ring to n.
std::vector<Traffic> traffic_of(const Arrangement& arrangement, CollectiveKind kind,
                                std::int64_t members, Bytes bytes);

}  // namespace plait
