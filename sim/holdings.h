#pragma once
// Kernels beside collectives. The thread blocks of a collective keep multiprocessors (SMs) of their
// rank's device from when it starts until it ends, and a kernel proceeds at the pace of those that
// are left, at least one:
//   d(work) / dt = max(1, S - sum of SMs held at t) / S
// (docs/models/simulator.md, section 1). Times are picoseconds; where the pace changes, what is
// left of the kernel is rounded up.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"
#include "sim/durations.h"

namespace plait {

/// What one collective keeps of one device.
struct Holding {
  SimTime start = 0, end = 0;
  int sms = 0;
};

/// When a kernel ends that starts at `start` and would take `duration` with all `sms` of its
/// device. Shifting all times shifts the result. `sms` 0: nothing slows it down.
SimTime end_beside(std::span<const Holding> holdings, int sms, SimTime start, SimTime duration);

/// What collectives keep of the devices of one stage's lanes. Those of one stream come one after
/// the other.
class StageHoldings {
 public:
  /// `stage` of `durations`, which must outlive this.
  StageHoldings(const Durations& durations, std::size_t stage, std::size_t lanes);

  /// Collective `op` on `stream` begins at start[lane] and takes `row`.
  void begin(std::size_t op, std::size_t stream, const SimTime* start, const DurationRow& row);
  /// What has ended by `now` on every lane.
  void forget(SimTime now);
  /// The latest end on any lane; 0: nothing is held.
  SimTime until() const { return until_; }
  /// A kernel on all lanes: clock[lane] goes from its start to its end.
  void advance(SimTime* clock, const DurationRow& row);

 private:
  struct Collective {
    std::vector<SimTime> start, end;  // [lane]
    std::vector<int> sms;             // [lane]
    SimTime until = 0;                // the latest end
  };
  /// Collectives [first, size) of a stream; what has ended is used again. A lane that is far ahead
  /// of others is past many of them, and looks at none before its `next`.
  struct Queue {
    std::vector<Collective> items;
    std::size_t first = 0, size = 0;
    std::vector<std::size_t> next;  // [lane]; empty: none is past any
    std::size_t next_on(std::size_t lane) const {
      return next.empty() ? first : std::max(first, next[lane]);
    }
  };
  /// Of each queue that is not empty, its stream.
  template <class Visit>
  void for_each_busy(Visit visit) const {
    for (std::uint32_t left = busy_; left != 0; left &= left - 1)
      visit(static_cast<std::size_t>(std::countr_zero(left)));
  }
  Collective& next(std::size_t stream);
  bool has_long_queues() const;
  /// Of the collectives that had ended on the lane by `now`, none is looked at again.
  void pass(std::size_t lane, SimTime now);
  /// True if what lane and the one before it hold before `end` is the same.
  bool as_before(std::size_t lane, SimTime end) const;
  SimTime end_on(std::size_t lane, SimTime start, SimTime duration);

  const Durations& durations_;
  std::size_t stage_, lanes_;
  std::array<Queue, kStreams> queues_;
  std::uint32_t busy_ = 0;                     // queues that are not empty, a bit each
  std::array<std::size_t, kStreams> at_ = {};  // where the walk of one lane stands in each queue
  SimTime until_ = 0;
};

}  // namespace plait
