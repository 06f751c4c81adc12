#pragma once
// A GPU split into equal parts, each a device of its own to the ranks: green contexts, or processes
// that CUDA MPS limits. A part has multiprocessors of its own. Memory, its bandwidth and the link
// to the host belong to all of them.

#include <cstdint>

#include "topologies/cluster.h"

namespace plait {

/// The most multiprocessors that each of `parts` equal parts can have as the driver splits them:
/// eight or a multiple of eight since compute capability 9.0, before it four or more in twos (CUDA
/// Programming Guide, Green Contexts). 0: the GPU has too few.
int multiprocessors_of_part(const Device& gpu, std::int64_t parts);

/// One of `parts` equal parts of `gpu` while the others are idle: rates in proportion to its
/// multiprocessors, but memory bandwidth, of which it draws more; capacities over `parts`. Power,
/// on which the clock depends, is the GPU's. Throws InputError C004 where the GPU has too few
/// multiprocessors.
Device part_of(const Device& gpu, std::int64_t parts);

}  // namespace plait
