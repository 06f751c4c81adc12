#pragma once
// A link of the machine as the flow network takes it.

#include <algorithm>
#include <cmath>

#include "sim/network/max_min.h"
#include "topologies/network.h"

namespace plait {

/// Whole bytes per second, at least one. Links that carry more than can be counted, as those that
/// are tried out do, hold nothing up.
inline FlowRate capacity_of(const NetworkLink& link) {
  constexpr auto kMost = static_cast<double>(kMostCapacity);
  return std::max<FlowRate>(1, std::llround(std::min(link.bandwidth.value, kMost)));
}

}  // namespace plait
