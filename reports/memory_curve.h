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
  Bytes overheads;
  Bytes sum() const;
};

/// A rank's live tensors (StageMemory::curve) and what comes on top of the fullest of it.
struct RankMemory {
  const std::vector<MemoryPoint>& curve;
  const std::vector<MemoryItem>& overheads;
};
/// Of its role. Nothing of a rank whose device is another than that of the stage's `use`.
/// `devices`: as shown_tracks takes them.
std::optional<RankMemory> memory_of_rank(const Plan& plan, const StageUse& use, const Track& track,
                                         const std::vector<std::string>& devices);

/// `memory` as `track` runs; `end` is the time of what no op comes after. Of several points at one
/// time only the fullest: a peak must not get lost. Overheads that stand beside tensors or ops come
/// and go with these, so that the fullest sample is the reported peak; all others are always there.
std::vector<MemorySample> memory_over_time(const RankMemory& memory, const Plan& plan,
                                           const Track& track, SimTime end);

/// The same in at most about `most` samples: time is cut into equal slots, of each the fullest.
std::vector<MemorySample> thinned(const std::vector<MemorySample>& samples, std::size_t most);

}  // namespace plait
