#pragma once
// What a pattern works on, and what rounds are put together from.
//
// A pattern returns all rounds of one member, also those in which it does nothing: the k-th round
// of one member meets the k-th rounds of its peers, so no pattern can block. Rounds and transfers
// that turn out to be empty are left out at the end (`rounds_of`).
//
// A reduce_scatter is an all_gather that runs backwards: what was sent to one after the other is
// now received and combined. So patterns are written as gathers, and `reversed` does the rest.

#include <functional>
#include <vector>

#include "plan/collectives/rounds.h"

namespace plait {

using Rounds = std::vector<Round>;
using Pieces = std::vector<Range>;                   // part of the work buffer
using Shares = std::function<Pieces(std::int64_t)>;  // by place

/// The members that a pattern runs over, as one of them sees them; counted from `place` to place
/// with wrap-around.
struct Team {
  std::vector<std::int64_t> members = {};  // of the whole group, by place
  Shares shares = {};
  Range whole = {};        // of all_reduce and broadcast; the shares tile it
  std::int64_t place = 0;  // of this member

  std::int64_t size() const { return static_cast<std::int64_t>(members.size()); }
  std::int64_t at(std::int64_t p) const { return members[static_cast<std::size_t>(wrapped(p))]; }
  Pieces share(std::int64_t p) const { return shares(wrapped(p)); }

 private:
  std::int64_t wrapped(std::int64_t p) const { return (p % size() + size()) % size(); }
};

/// Part `index` of `parts` of a range, split as `share_of` does.
Range part_of(Range range, std::int64_t parts, std::int64_t index);
Shares parts_of(Range range, std::int64_t parts);
/// Appends a block, as one range with what it continues.
void append(Pieces& block, const Pieces& more);
/// The same ranges `by` elements further on.
Pieces moved(Pieces block, std::int64_t by);

void send(Round& round, std::int64_t to, const Pieces& block);
void receive(Round& round, std::int64_t from, const Pieces& block, bool combine = false);

/// First and last swapped, sender and receiver; what is received now is combined (a switch has
/// combined it already).
Rounds reversed(const Rounds& rounds);
/// One after the other.
Rounds then(Rounds first, const Rounds& second);
/// Both at the same time, round by round.
Rounds beside(Rounds one, const Rounds& other);

/// Rounds that a gather makes of a kind: itself, reversed, or reversed and then itself.
Rounds from_gather(CollectiveKind kind, const Rounds& gather);

}  // namespace plait
