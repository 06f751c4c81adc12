#pragma once
// Live memory of a rank over the time of a step. Memory is accounted in the order in which ops are
// issued: a change shows when the next op of the compute stream starts.

#include <optional>
#include <string>
#include <vector>

#include "costmodel/stage_use.h"
#include "plan/memory.h"
#include "plan/timeline.h"

namespace plait {

struct MemorySample {
  SimTime time = 0;
  BytesByClass live;
};

Bytes sum_of(const BytesByClass& live);

/// A rank's live tensors (StageMemory::curve) and what comes on top.
struct RankMemory {
  const std::vector<MemoryPoint>& curve;
  const std::vector<MemoryItem>& overheads;
};
/// Of its role. Nothing of a rank whose device is another than that of the stage's `use`.
/// `devices`: as shown_tracks takes them.
std::optional<RankMemory> memory_of_rank(const Plan& plan, const StageUse& use, const Track& track,
                                         const std::vector<std::string>& devices);

/// `curve` (StageMemory::curve) as `track` runs; `end` is the time of what no op comes after. Of
/// several points at one time only the fullest: a peak must not get lost.
std::vector<MemorySample> memory_over_time(const std::vector<MemoryPoint>& curve, const Plan& plan,
                                           const Track& track, SimTime end);

/// The same in at most about `most` samples: time is cut into equal slots, of each the fullest.
std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples, std::size_t most);

}  // namespace plait
