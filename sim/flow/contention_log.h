#pragma once
// Adds up the stretches in which flows held each other up, by what they were and where.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/flow/contention.h"
#include "sim/flow/link_loads.h"
#include "sim/network/flow_network.h"

namespace plait {

/// "all_gather over fsdp (ring)", "send to the next stage".
std::string name_of(const FlowKind& kind, const Sites& sites);

class ContentionLog {
 public:
  /// `flows`: how many flows of its class the held up one stands for.
  void add(const HoldUp& held_up, std::int64_t flows);
  /// Most time lost first; label k is kinds[k].
  std::vector<Contention> summary(const std::vector<FlowKind>& kinds, const Sites& sites,
                                  const LinkLoads& loads, const Network& network) const;

 private:
  struct Sum {
    std::uint64_t with = 0;
    double time = 0, lost = 0;  // picoseconds times flows
  };
  std::map<std::pair<std::uint32_t, FlowLabel>, Sum> sums_;  // by link class and label
};

}  // namespace plait
