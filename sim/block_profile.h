#pragma once
// A block run once on each lane, from time 0, on a machine at rest and with all of its ops issued:
// when each op starts and ends. Where nothing outside delays it, every run of the block is this
// profile shifted in time, each lane by its own.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/dependencies.h"
#include "sim/durations.h"
#include "sim/lanes.h"

namespace plait {

/// Index of the compute stream's clock.
inline constexpr auto kComputeClock = static_cast<std::size_t>(Stream::kCompute);

struct LaneProfile {
  std::array<SimTime, kStreams> clock = {};  // of used streams, at the end
  std::vector<SimTime> start, end;           // per op
  SimTime lead = 0;  // the host must have begun so long before, or it delays an op
};

struct BlockProfile {
  bool shiftable = false;             // starts behind compute and waits for no other rank class
  bool one_root = false;              // every op but the first waits for an earlier op of the block
  std::vector<std::uint8_t> streams;  // that it uses
  std::vector<LaneProfile> lanes;     // where it is shiftable
  std::vector<std::uint16_t> outlasting;  // collectives that keep devices beyond the last kernel
  SimTime issue = 0;                      // of all ops
};

/// On the lanes of `stage`.
BlockProfile profile(const Plan& plan, const Dependencies& deps, const Lanes& lanes,
                     const Durations& durations, std::size_t stage, BlockId block);

}  // namespace plait
