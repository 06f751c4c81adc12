#pragma once
// How a collective is made of messages: for each member of a group, rounds of transfers. One
// definition for all: the simulator times these rounds, a real run executes them.
//
// A round's transfers happen at the same time, in both directions; a member begins its next round
// when all of its own transfers have ended. Rounds are not numbered across members: what one sends,
// its peer receives, in the same order for each pair. A send carries what its range holds when the
// round begins, even where a receive of the same round changes the range. No transfer is empty: who
// would send no elements sends nothing, and rounds left without transfers are left out.
//
// The work buffer has `elements` elements and holds, before and after:
//   all_reduce      the member's addend; the sum (n terms, the same bits on every member)
//   reduce_scatter  the member's addend; its own share of the sum, the rest is undefined
//   all_gather      its own share in its place; all shares
//   broadcast       the data on member 0; the data
//   all_to_all      sends leave an input buffer, receives enter an output buffer: share p of the
//                   input goes to member p, share p of the output comes from member p (the own
//                   share is no transfer); n divides `elements`
// Share p of n begins at element floor(elements p / n).

#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/op.h"

namespace plait {

/// Elements [first, first + elements) of the work buffer.
struct Range {
  std::int64_t first = 0, elements = 0;
};

enum class Direction : std::uint8_t { kSend, kReceive };

struct Transfer {
  Direction direction = Direction::kSend;
  std::int64_t peer = 0;  // place in the group
  Range range;
  /// Of a receive: the data are combined with what stands in the range, else they replace it.
  bool combine = false;
};

using Round = std::vector<Transfer>;

/// Chosen by size and group; see `pattern_of`. One file each.
enum class Pattern : std::uint8_t {
  kRing,               // ring.cpp: all_reduce, all_gather, reduce_scatter
  kRecursiveDoubling,  // recursive_doubling.cpp: all_reduce of few bytes
  kDirect,             // direct.cpp: all_to_all, everyone with everyone at once
  kBinomial            // binomial.cpp: broadcast
};
std::string_view name_of(Pattern pattern);

/// A pattern and what it may be told.
struct Arrangement {
  Pattern pattern = Pattern::kRing;
};

/// Share `index` of `elements` among `members`.
Range share_of(std::int64_t elements, std::int64_t members, std::int64_t index);

/// How a collective of `bytes` (nccl-tests' S) over `members` ranks travels between processors.
Pattern pattern_of(CollectiveKind kind, std::int64_t members, Bytes bytes);

/// The rounds of member `index`; none in a group of one. The pattern must know the kind.
std::vector<Round> rounds_of(const Arrangement& arrangement, CollectiveKind kind,
                             std::int64_t members, std::int64_t index, std::int64_t elements);

}  // namespace plait
