#pragma once
// Kernels beside collectives. The thread blocks of a collective keep multiprocessors (SMs) of their
// rank's device from when it starts until it ends, and a kernel proceeds at the pace of those that
// are left, at least one:
//   d(work) / dt = max(1, S - sum of SMs held at t) / S
// (docs/models/simulator.md, section 1). Times are picoseconds; where the pace changes, what is
// left of the kernel is rounded up.

#include <cstdint>
#include <vector>

#include "core/time.h"

namespace plait {

/// What one collective keeps of one device.
struct Holding {
  SimTime start = 0, end = 0;
  int sms = 0;
};

/// When a kernel ends that starts at `start` and would take `duration` with all `sms` of its
/// device. Shifting all times shifts the result. `sms` 0: nothing slows it down.
SimTime end_beside(const std::vector<Holding>& holdings, int sms, SimTime start, SimTime duration);

/// Leaves those out that have ended by `now`.
void forget_ended(std::vector<Holding>& holdings, SimTime now);

}  // namespace plait
