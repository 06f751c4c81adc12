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
//   shift           two buffers in a row: the input; what the member before had as its input
//   push            a worker's addend, zeros on a dedicated server; on a server its own share of
//                   the sum, the rest is undefined
//   pull            a server's own share in its place; on a worker all shares
//   all_to_all      three buffers in a row, of `elements` each: the input, whose share p is for
//                   member p; the output, whose share p comes from member p; and room for what is
//                   passed on (hierarchical). The own share is no transfer. n divides `elements`
// Share p of n begins at element floor(elements p / n); of a push and a pull n is the servers.

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

/// Peer of a transfer to or from the switch that joins the members of a node (NVLS: all members).
/// It adds: what it delivers of an element in a round is the sum of what its members send it of
/// that element in the same round, and so a copy where only one of them does.
inline constexpr std::int64_t kSwitch = -1;

struct Transfer {
  Direction direction = Direction::kSend;
  std::int64_t peer = 0;  // place in the group, or kSwitch
  Range range;
  /// Of a receive: the data are combined with what stands in the range, else they replace it.
  bool combine = false;
};

using Round = std::vector<Transfer>;

/// One file each, which says how it works; docs/models/algorithms.md compares them.
enum class Pattern : std::uint8_t {
  kRing,               // all but all_to_all and shift
  kTree,               // all_reduce, broadcast: double binary tree
  kHalvingDoubling,    // all_reduce, all_gather, reduce_scatter
  kRecursiveDoubling,  // all_reduce of few bytes
  kOneShot,            // all_reduce of fewer still
  kDirect,             // all but broadcast: everyone with everyone at once; the only one of shift,
                       // push and pull
  kPairwise,           // all_to_all, one peer after the other
  kBinomial,           // broadcast
  kPat,                // all_gather, reduce_scatter
  kNvls,               // all_reduce, all_gather, reduce_scatter, by a switch that adds
  kHierarchical        // all but broadcast and shift: within nodes and between them
};
std::string_view name_of(Pattern pattern);
/// Push or pull.
constexpr bool is_served(CollectiveKind kind) {
  return kind == CollectiveKind::kPush || kind == CollectiveKind::kPull;
}
bool knows(Pattern pattern, CollectiveKind kind);

/// A pattern laid out on nodes and channels.
struct Arrangement {
  Pattern pattern = Pattern::kRing;
  /// Members m g .. m g + g - 1 share node m; divides the members. For ring, tree, hierarchical.
  std::int64_t members_per_node = 1;
  /// The data are split over so many channels, which run at the same time. Channel k enters nodes
  /// at their local member k (mod g).
  int channels = 1;
  /// Of a channel's data, in trees and broadcasting rings: one travels an edge per round.
  int chunks = 16;
  /// PAT: a member sends at most so many shares per round, rounded down to a power of two; 0: any.
  std::int64_t most_shares = 0;
  /// Of a hierarchy; an all_to_all needs none.
  Pattern within = Pattern::kDirect, between = Pattern::kRing;
  Servers servers = {};  // of a push or pull
};

/// Share `index` of `elements` among `members`.
Range share_of(std::int64_t elements, std::int64_t members, std::int64_t index);

/// How a collective of `bytes` (nccl-tests' S) over `members` ranks travels between processors.
Pattern pattern_of(CollectiveKind kind, std::int64_t members, Bytes bytes);

/// Rounds of recursive doubling, each of the whole buffer: floor(log2 n), and 2 more where n is no
/// power of two.
std::int64_t doubling_rounds(std::int64_t members);

/// The rounds of member `index`; none in a group of one. Throws InternalError where the pattern
/// does not know the kind or cannot be laid out so.
std::vector<Round> rounds_of(const Arrangement& arrangement, CollectiveKind kind,
                             std::int64_t members, std::int64_t index, std::int64_t elements);

}  // namespace plait
