#pragma once
// Who sends to whom in a collective, and how much: what the flow network needs to know of an
// algorithm. Pipelined algorithms keep all their connections busy at the same time, at one common
// pace, so the pattern summed over the rounds says it.

#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/costmodel.h"

namespace plait {

struct Connection {
  std::int64_t from = 0, to = 0;  // devices
  double share = 0;               // bytes / S, nccl-tests' size of the collective
};

/// What connections depend on besides who is in the group.
struct WayOfSending {
  Algorithm algorithm = Algorithm::kRing;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  TokenExchange tokens = {};  // of Algorithm::kDeepEp, whatever their width
  auto operator<=>(const WayOfSending&) const = default;
};
WayOfSending way_of_sending(const Collective& op, Algorithm algorithm);

/// `devices`: the members of the group in rank order, at least two.
std::vector<Connection> connections_of(const WayOfSending& how, const Servers& servers,
                                       std::span<const std::int64_t> devices,
                                       const Cluster& cluster);

}  // namespace plait
