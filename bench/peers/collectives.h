#pragma once
// The collectives that both engines of collectives_on_both.cpp run.

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/replay.h"

namespace plait {

struct CollectiveCase {
  std::string name;
  std::int64_t hosts = 0;
  std::vector<ReplayedCollective> collectives;
  SimTime longest_rest = 0;
};

/// Ring and tree all_reduce, concurrent rings in step and out of step, all_to_all.
std::vector<CollectiveCase> collective_cases();

/// The network of `hosts` devices, 8 to a node, over a fat tree. Links have no latency: SimGrid
/// shares a link by the latency of the flows on it, max-min fairness does not.
std::shared_ptr<const Network> network_of(std::int64_t hosts);

}  // namespace plait
