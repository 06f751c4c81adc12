#pragma once
// What the pictures of a page draw the course of a step from. Times are whole nanoseconds, rounded
// down, as in traces.

#include <string>
#include <vector>

#include "costmodel/stage_use.h"
#include "plan/timeline.h"

namespace plait {

struct TimelineInputs {
  const Plan& plan;
  const Timeline& timeline;
  std::string label;                      // "simulated", "measured", or which of several scenarios
  std::vector<std::int64_t> ranks = {};   // to show; empty: those of shown_tracks
  std::int64_t most_spans = 250'000;      // about; of many stages fewer are shown
  std::int64_t fullest_stage = 0;         // shown beside the first, however many they are
  std::vector<std::string> devices = {};  // of each rank; empty: all are alike
};

/// The spans of the represented ranks, as the page keeps them: what the ops of each block are, the
/// calls of each shown stage, and per track and flat op the gap to the op before it on the same
/// stream and the duration. Of many stages as many as have about `most_spans`, evenly
/// spaced, but always the first and the fullest.
std::string timeline_json(const TimelineInputs& in);

/// Live memory by class over the time of the step, for the same ranks, as far as it is known
/// (memory_of_rank); `memory` has one entry per
/// stage, each with its curve.
std::string memory_json(const TimelineInputs& in, const std::vector<StageUse>& memory);

}  // namespace plait
