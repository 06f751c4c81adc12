#pragma once
// Collectives as a transport's own library does them, where it has one: the alternative that our
// rounds are compared with.

#include <cstdint>
#include <span>

#include "plan/collectives/rounds.h"

namespace plait {

class CollectiveLibrary {
 public:
  virtual ~CollectiveLibrary() = default;
  /// Makes a group known for a channel: different ranks may begin collectives of different channels
  /// in different orders. All its members call this, all ranks in one order.
  virtual void prepare(int channel, std::span<const std::int64_t> group) = 0;
  /// Begins a collective of `group` on a work buffer as plan/collectives/rounds.h describes it:
  /// all_reduce, and all_gather, reduce_scatter and all_to_all of equal shares, of which `own` is
  /// this rank's.
  /// `size` of an element: 4 (float) or 8 (double). Returns a ticket.
  virtual std::int64_t start(CollectiveKind kind, Reduction reduction, int channel,
                             std::span<const std::int64_t> group, Range own, std::byte* work,
                             std::int64_t elements, std::size_t size) = 0;
  /// Whether it has ended; then the ticket is worth nothing any more.
  virtual bool finished(std::int64_t ticket) = 0;
};

}  // namespace plait
