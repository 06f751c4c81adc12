#pragma once
// The flow engine: rank classes whose communication shares links. It walks the same programs by the
// same rules as the sweep engine (sim/sweep.h); but what is on the network at the same time shares
// it (sim/network), so ends are not known beforehand and events drive the walk. Where nothing ever
// contends, both give the same timeline to the picosecond.
//
// An op begins no earlier than the host has issued it. Where the host waits for its device, its
// next run begins when all ops of the last one have ended.
//
// Given an op that takes d alone, of which bytes flow for f (its cost's bandwidth shares):
//   collective  begins when all members are ready, waits d - f, then flows for at least f
//   send        the same, when its rank is ready; its end is the arrival of the message
//   compute     takes d; while collectives hold SMs, at the pace of the SMs that are left; where
//               devices share memory, its bytes flow for all of d but its launch
// What happens at one time happens in no order: first all that ends, then all that begins, then the
// network is shared out anew.

#include <vector>

#include "core/watch.h"
#include "plan/dependencies.h"
#include "plan/plan.h"
#include "plan/timeline.h"
#include "sim/durations.h"
#include "sim/flow/contention.h"
#include "sim/flow/link_loads.h"
#include "sim/flow/transfers.h"

namespace plait {

struct FlowMachine {
  const LinkLoads& loads;
  const Transfers& transfers;
  const Durations& durations;
  const std::vector<FlowKind>& kinds;
  const Sites& sites;
  const Network& network;
  std::vector<int> sms;  // of a device of each kind; 0: collectives do not slow down compute
};

struct FlowRun {
  SimTime step_time = 0;
  std::vector<Track> tracks;  // stage-major, lane-minor, when recorded
  std::int64_t ops_walked = 0;
  std::vector<Contention> contention;  // most time lost first
};

/// `watch` is told of op instances that have begun. Throws InternalError naming the first blocked
/// op of each stage when nothing can run.
FlowRun run_flows(const Plan& plan, const Dependencies& deps, const FlowMachine& machine,
                  bool record, const Watch& watch = {});

}  // namespace plait
