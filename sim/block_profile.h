#pragma once
// A block run once, from time 0, on a machine at rest and with all of its ops issued: when each op
// starts and ends. Where nothing outside delays it, every run of the block is this profile shifted
// in time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/dependencies.h"
#include "sim/durations.h"
#include "sim/holdings.h"

namespace plait {

/// Index of the compute stream's clock.
inline constexpr auto kComputeClock = static_cast<std::size_t>(Stream::kCompute);

struct BlockProfile {
  bool shiftable = false;     // starts behind compute and waits for no other rank class
  bool one_root = false;      // every op but the first waits for an earlier op of the block
  std::uint16_t streams = 0;  // used, a bit each
  std::array<SimTime, kStreams> clock = {};  // of used streams, at the end
  std::vector<SimTime> start, end;           // per op
  std::vector<Holding> holdings;             // of collectives that outlast the last kernel
  SimTime issue = 0;                         // of all ops
  SimTime lead = 0;  // the host must have begun so long before, or it delays an op
};

/// On a single lane of `stage`.
BlockProfile profile(const Plan& plan, const Dependencies& deps, const Durations& durations,
                     std::size_t stage, BlockId block);

}  // namespace plait
