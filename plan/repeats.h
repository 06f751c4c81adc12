#pragma once
// Programs of many microbatches repeat themselves: in the middle of a schedule each so many calls
// do what those before did, for later microbatches. What is the same in each such period need be
// looked at only once.

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plait {

/// `later` does what `call` does, `calls` calls further on, for a microbatch `microbatches` later
/// or for the same one: what belongs to none.
bool is_repeat(const Call& call, const Call& later, std::size_t calls, std::int64_t microbatches);

/// Calls first .. first + calls x periods - 1: each is the one `calls` before it, of a microbatch
/// `microbatches` later or of none. All calls of a microbatch that begins in their middle are among
/// them.
struct Repeats {
  std::size_t first = 0,
              calls = 0;  // the first of them; those of a period, 0 where nothing repeats
  std::size_t periods = 0;
  std::int32_t microbatches = 0;  // of a period
  /// Periods, from the first on, that show all there is to memory: before the last of them ends the
  /// microbatches that began before them, and in their first period, have ended, the former before
  /// the last one begins. Any further period holds what this one does.
  std::size_t telling = 0;
};

Repeats repeats_of(const std::vector<Call>& calls);

/// Whether the memory of the program with so many microbatches more in its middle is known from the
/// program itself.
bool is_extensible(const Repeats& repeats, std::int64_t microbatches);

/// The calls without the last `periods` of the repeats: what stands behind is of microbatches that
/// much earlier.
std::vector<Call> without(const std::vector<Call>& calls, const Repeats& repeats,
                          std::size_t periods);

}  // namespace plait
