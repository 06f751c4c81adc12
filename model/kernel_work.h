#pragma once
// What one of the kernels that an op of several is moves and multiplies, and the sums over a
// sequence's chunks that such kernels count by.

#include <cstdint>

namespace plait {

/// Operands once; FLOPs of its products that the algorithm needs, and that run.
struct KernelWork {
  std::int64_t bytes = 0;
  double needed = 0, run = 0;
};

/// Sum over a sequence's chunks, of which the last may be shorter, of their squares.
constexpr std::int64_t squares_of_chunks(std::int64_t length, std::int64_t chunk) {
  if (chunk <= 0) return 0;
  const std::int64_t rest = length % chunk;
  return length / chunk * chunk * chunk + rest * rest;
}
/// Of their cubes.
constexpr std::int64_t cubes_of_chunks(std::int64_t length, std::int64_t chunk) {
  if (chunk <= 0) return 0;
  const std::int64_t rest = length % chunk;
  return length / chunk * chunk * chunk * chunk + rest * rest * rest;
}

}  // namespace plait
