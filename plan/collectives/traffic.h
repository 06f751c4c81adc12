#pragma once
// What a collective moves, and how often: its rounds summed over time. A network that shares its
// links fluidly needs no more of a collective than this.

#include <cstdint>
#include <vector>

#include "core/quantity.h"
#include "plan/collectives/rounds.h"

namespace plait {

/// All bytes of a collective that `from` sends to `to`: places in the group, or kSwitch for the
/// switch of the other one's node.
struct Traffic {
  std::int64_t from = 0, to = 0;
  Bytes bytes;
};

/// The traffic of a collective of `bytes` (nccl-tests' S), by (from, to) ascending, each pair once,
/// none of no bytes. Shares are cut at bytes, as those of `rounds_of` at elements. Takes time in
/// proportion to all messages; a ring's only to its members and channels. Throws as `rounds_of`.
std::vector<Traffic> traffic_of(const Arrangement& arrangement, CollectiveKind kind,
                                std::int64_t members, Bytes bytes);

/// A collective in four numbers; bytes of the member that has most to do.
struct Effort {
  std::int64_t rounds = 0;  // one after the other, for the whole group
  Bytes sent, received;
  Bytes combined;  // by the member; a switch's are not counted
};
Effort effort_of(const Arrangement& arrangement, CollectiveKind kind, std::int64_t members,
                 Bytes bytes);

}  // namespace plait
