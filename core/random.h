#pragma once
// Random numbers that are a function of a counter: the same on every machine, in any order.

#include <cstdint>

namespace plait {

/// 64 random bits from a counter (SplitMix64, Steele et al. 2014).
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace plait
