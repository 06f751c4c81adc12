#pragma once
// A link of the machine as the flow network takes it.

#include <algorithm>
#include <cmath>

#include "sim/network/max_min.h"
#include "topologies/network.h"

namespace plait {

/// Whole bytes per second, at least one.
inline FlowRate capacity_of(const NetworkLink& link) {
  return std::max<FlowRate>(1, std::llround(link.bandwidth.value));
}

}  // namespace plait
