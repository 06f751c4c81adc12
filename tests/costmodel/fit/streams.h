#pragma once
// From measured durations of kernels that stream their operands to StreamFit (efficiency.h), with
// robust logarithmic loss.

#include <vector>

#include "core/quantity.h"
#include "costmodel/efficiency.h"

namespace plait {

struct StreamRow {
  Bytes bytes;
  Seconds time;
};

/// l2 and, unless `only_l2`, fixed and bandwidth; otherwise those of `start` stay. `device` is the
/// one that was measured.
StreamFit fit_stream(const std::vector<StreamRow>& rows, const Device& device,
                     const StreamFit& start, bool only_l2);

}  // namespace plait
