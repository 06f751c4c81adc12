#pragma once
// Random numbers of a load: each a function of the seed, of what it is for and of a counter.

#include <cstdint>

#include "core/random.h"

namespace plait {

enum DrawStream : std::uint64_t { kArrival, kKind, kPrompt, kOutput, kPrefix, kAcceptance };

/// The n-th uniform number in (0, 1) of a stream.
inline double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t n) {
  const std::uint64_t bits = scramble(scramble(scramble(seed) + stream) + n);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace plait
