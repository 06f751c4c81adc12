#pragma once
// Bisection: what flows at most between two sets of devices, and which links limit it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "topologies/graph.h"

namespace plait {

/// From the first devices of a machine to the rest when all of them send.
struct Cut {
  std::string name;
  std::int64_t devices = 0;  // in the first part
  BytesPerSecond bandwidth;  // one direction
  /// The same by the class of the links that limit it.
  std::array<BytesPerSecond, kLinkClasses> by_class = {};
  BytesPerSecond injection;  // of the NICs of the first part
  /// Above 1 the fabric carries less than the NICs could send; 0 without NICs.
  double oversubscription() const;
};

/// devices[0, first) against the rest, by maximum flow over all links of the machine. Links count
/// in whole bytes per second.
Cut cut_of(const Machine& machine, std::size_t first, std::string name);

}  // namespace plait
