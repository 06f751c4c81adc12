#pragma once
// Random numbers that are a function of a counter: the same on every machine, in any order.

#include <cstdint>

namespace plait {

/// Finaliser of SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number
/// generators, figure 17 with the constants of Stafford's variant 13).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// 64 random bits from a counter: SplitMix64.
constexpr std::uint64_t scramble(std::uint64_t x) { return mix64(x + 0x9E3779B97F4A7C15U); }

}  // namespace plait
