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
#include <limits>
#include <span>
#include <vector>

#include "core/time.h"
#include "sim/durations.h"

namespace plait {

/// What one collective keeps of one device.
struct Holding {
  SimTime start = 0, end = 0;
  int sms = 0;
  bool operator==(const Holding&) const = default;
};

/// What is held of one device at a time, and when that next changes.
struct Held {
  SimTime from = 0, until = std::numeric_limits<SimTime>::max();
  int sms = 0;
  /// One that has not ended by `from`.
  void add(const Holding& h) {
    const bool begun = h.start <= from;
    if (begun) sms += h.sms;
    until = std::min(until, begun ? h.end : h.start);
  }
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
  /// Everything, if all of it has ended by `now`.
  void forget(SimTime now);
  /// The latest end on any lane; 0: nothing is held.
  SimTime until() const { return until_; }
  /// A kernel on all lanes: clock[lane] goes from its start to its end.
  void advance(SimTime* clock, const DurationRow& row);

 private:
  /// Of one stream, in its order: of collective i on each lane, cells[i * lanes + lane].
  struct Queue {
    std::vector<Holding> cells;
    std::vector<std::size_t> next;  // [lane]: collectives before have ended where its kernels are
  };
  /// Of each queue that is not empty, its stream.
  template <class Visit>
  void for_each_busy(Visit visit) const {
    for (std::uint32_t left = busy_; left != 0; left &= left - 1)
      visit(static_cast<std::size_t>(std::countr_zero(left)));
  }
  /// Makes room for one more by those that have ended on all lanes, if they are many.
  void drop_ended(Queue& queue) const;
  /// Where the lane is, what the one before it passed has ended too.
  void pass_as_before(std::size_t lane);
  /// True if lane and the one before it, which is at `end` already, hold the same from `start` on.
  bool as_before(std::size_t lane, SimTime start, SimTime end) const;
  const Held& held(std::size_t lane, SimTime now);

  const Durations& durations_;
  std::size_t stage_, lanes_;
  std::array<Queue, kStreams> queues_;
  std::uint32_t busy_ = 0;  // queues that are not empty, a bit each
  std::vector<Held> held_;  // [lane]: where its last kernel was looked at
  SimTime until_ = 0;
};

}  // namespace plait
