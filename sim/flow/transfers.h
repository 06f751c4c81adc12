#pragma once
// What each communication op of a plan asks of the network on each rank class, and each kernel of
// memory that devices share: how long it takes alone, of this how long before its bytes flow, and
// at what rate they then do.

#include <vector>

#include "sim/durations.h"
#include "sim/flow/link_loads.h"

namespace plait {

struct TransferDemand {
  const FlowClass* flow = nullptr;
  SimTime start_up = 0;    // launch and hops
  SimTime flowing = 0;     // alone
  FlowRate rate = 0;       // of its widest connection, alone; 0 if nothing flows
  int sms = 0;             // thread blocks that do not compute meanwhile
  std::uint32_t kind = 0;  // index into the kinds of flows
};

/// The kinds of flows that the plan's ops use on these sites, ascending.
std::vector<FlowKind> flow_kinds(const Plan& plan, const Cluster& cluster, const CostModel& costs,
                                 const Sites& sites);

class Transfers {
 public:
  Transfers(const Plan& plan, const Cluster& cluster, const CostModel& costs, const Sites& sites,
            const std::vector<FlowKind>& kinds, const LinkLoads& loads, const Durations& durations);
  /// Of a collective or send, or of a kernel where devices share memory; for others, and kernels
  /// that move nothing, without a flow.
  const TransferDemand& at(std::size_t stage, std::size_t lane, std::size_t op) const {
    return demands_[(stage * ops_ + op) * lanes_ + lane];
  }

 private:
  void add_kernel(Bytes bytes, std::size_t op, const std::vector<FlowKind>& kinds,
                  const LinkLoads& loads, const Durations& durations);
  std::size_t ops_, lanes_;
  std::vector<TransferDemand> demands_;  // [stage][op][lane]
};

}  // namespace plait
