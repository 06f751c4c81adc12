#pragma once
// What one step puts on every link of a machine: bytes, without saying when. Collectives travel as
// their algorithm has them (sim/flow/connections.h), messages between pipeline stages from rank to
// rank, both on the ways that the network routes them. Copies to and from host memory are not
// counted.

#include <vector>

#include "costmodel/costmodel.h"
#include "plan/plan.h"
#include "topologies/network.h"

namespace plait {

/// By LinkId.
struct LinkTraffic {
  std::vector<double> collectives, messages;  // bytes a step
  double bytes(LinkId link) const { return collectives[link] + messages[link]; }
};

/// `placement`: device of each rank, or empty for rank r on device r. Throws InputError C009 where
/// failures leave no way.
LinkTraffic link_traffic(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                         const std::vector<std::int64_t>& placement, const Network& network);

}  // namespace plait
