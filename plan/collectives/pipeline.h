#pragma once
// A range that flows through a tree in chunks. Every edge is one round long: chunk c goes from the
// members of depth d - 1 to those of depth d in round c + d - 1 of a broadcast.

#include "plan/collectives/team.h"

namespace plait {

/// A tree as one member sees it.
struct Branch {
  std::int64_t depth = 0;   // of this member; 0: the root
  std::int64_t parent = 0;  // of all but the root
  std::vector<std::int64_t> children = {};
};

/// From the root to all: height + chunks - 1 rounds.
Rounds broadcast_down(const Branch& branch, std::int64_t height, Range range, std::int64_t chunks);

/// Combined up to the root and from there to all, each chunk as soon as the root has it:
/// 2 height + chunks - 1 rounds.
Rounds reduce_and_broadcast(const Branch& branch, std::int64_t height, Range range,
                            std::int64_t chunks);

}  // namespace plait
