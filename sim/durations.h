#pragma once
// How long each op takes on each rank class, in picoseconds, with the cost behind it, how long the
// host takes to issue it, and what it keeps of the device meanwhile. Ops are
// numbered through the plan's blocks: op i of block b is `first_op[b] + i`. A row holds one value
// where all lanes agree, else one per lane.

#include <cstdint>
#include <vector>

#include "core/time.h"
#include "costmodel/costmodel.h"
#include "costmodel/issue.h"
#include "plan/plan.h"
#include "sim/lanes.h"
#include "sim/sites.h"

namespace plait {

struct DurationRow {
  const SimTime* value;
  bool per_lane;
  SimTime at(std::size_t lane) const { return per_lane ? value[lane] : *value; }
};

class Durations {
 public:
  Durations(const Plan& plan, const Cluster& cluster, const CostModel& costs, const Sites& sites,
            const Lanes& lanes, bool interference = true);

  std::size_t op_id(BlockId block, std::size_t i) const { return first_op_[block] + i; }
  std::size_t ops() const { return ops_; }
  DurationRow row(std::size_t stage, std::size_t op) const {
    const Slot& s = slots_[stage * ops_ + op];
    return {&pool_[s.offset], s.per_lane};
  }
  /// What the op costs a rank of this class, before its slow-down factor.
  const Cost& cost(std::size_t stage, std::size_t lane, std::size_t op) const;
  double factor(std::size_t stage, std::size_t lane) const;
  /// What the host needs to issue the op, once it has issued the one before.
  SimTime issue(std::size_t op) const { return issue_[op]; }
  /// What it waits for before it goes on behind the op.
  HostWait host_wait_after(std::size_t op) const { return host_wait_after_[op]; }
  /// False when the host issues everything in no time.
  bool host_takes_time() const { return host_takes_time_; }
  /// True for what runs on the device's multiprocessors one after the other: kernels of the compute
  /// stream, which collectives slow down.
  bool kernel(std::size_t op) const { return kernel_[op]; }
  /// Multiprocessors that a collective of several GPUs of one stage keeps while it runs; else 0.
  int held(std::size_t stage, std::size_t lane, std::size_t op) const;
  /// Whether it keeps any on any lane.
  bool holds(std::size_t stage, std::size_t op) const;
  /// Of the lane's device; 0 where collectives slow no kernel down: on processors, and with
  /// `interference` off.
  int multiprocessors(std::size_t stage, std::size_t lane) const {
    return multiprocessors_.size() == 1 ? multiprocessors_[0]
                                        : multiprocessors_[stage * lanes_ + lane];
  }
  /// True when both stages take equally long for every op, and keep as much of equal devices.
  bool same(std::size_t stage_a, std::size_t stage_b) const;

  struct Choice {
    Collective op;
    std::uint32_t site;
    CollectiveCost cost;
  };
  const std::vector<Choice>& choices() const { return choices_; }

 private:
  struct Slot {
    std::uint32_t offset = 0;
    bool per_lane = false;
  };
  class Pricer;
  std::uint32_t cost_index(std::size_t stage, std::size_t lane, std::size_t op) const;
  std::size_t ops_ = 0, lanes_ = 0;
  std::vector<std::size_t> first_op_;
  std::vector<Slot> slots_;  // [stage][op]
  std::vector<SimTime> pool_;
  std::vector<Cost> costs_;             // distinct
  std::vector<int> held_;               // of each of them
  std::vector<std::uint32_t> cost_of_;  // [stage][op] -> costs_, or kByLane | index into by_lane_
  std::vector<std::vector<std::uint32_t>> by_lane_;
  std::vector<double> factors_;       // [stage][lane], or one entry: all 1
  std::vector<int> multiprocessors_;  // [stage][lane], or one entry: all alike
  std::vector<Choice> choices_;
  std::vector<bool> kernel_;    // [op]
  std::vector<SimTime> issue_;  // [op]
  std::vector<HostWait> host_wait_after_;
  bool host_takes_time_ = false;
};

}  // namespace plait
