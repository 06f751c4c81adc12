#pragma once
// A timeline that stands for a longer one: so many more periods follow the last one that it has,
// each like that and `time` later than the one before. search/few_microbatches.h says when.

#include <cstdint>
#include <vector>

#include "core/time.h"

namespace plait {

struct FurtherPeriods {
  struct Ops {
    std::uint32_t first = 0, end = 0;  // flat
    std::uint32_t count() const { return end - first; }
  };
  std::int64_t count = 0;
  SimTime time = 0;       // of each
  std::vector<Ops> last;  // by stage: those of the last period that the timeline has
};

}  // namespace plait
