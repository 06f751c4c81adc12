#pragma once
// What one of the kernels that an op of several is moves and multiplies, and the sums over a
// sequence's chunks that such kernels count by.

#include <cstdint>
#include <vector>

#include "model/pass.h"

namespace plait {

/// Operands once; FLOPs of its products that the algorithm needs, and that run.
struct KernelWork {
  std::int64_t bytes = 0;
  double needed = 0, run = 0;
};

/// Of an op whose backward pass makes all its gradients: `forward` or `backward` of its sizes.
template <class Sizes>
std::vector<KernelWork> kernels_of(Pass pass, const Sizes& sizes,
                                   std::vector<KernelWork> (*forward)(const Sizes&),
                                   std::vector<KernelWork> (*backward)(const Sizes&)) {
  switch (pass) {
    case Pass::kForward: return forward(sizes);
    case Pass::kBackward:
    case Pass::kInputGrad: return backward(sizes);
    case Pass::kWeightGrad:
    case Pass::kOptimizer: return {};
  }
  return {};
}

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
