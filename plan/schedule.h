#pragma once
// Pipeline schedules as data: for one stage, the order in which it does passes over (chunk,
// microbatch) pairs.

#include <cstdint>
#include <vector>

#include "plan/strategy.h"

namespace plait {

/// F; B, the whole backward pass, or its half for the input's gradient where W, that for the
/// weights', is a pass of its own.
enum class TaskPass : std::uint8_t { kForward, kBackward, kWeightGrad };

struct Task {
  std::int16_t chunk = 0;
  std::int32_t microbatch = 0;
  TaskPass pass = TaskPass::kForward;
  bool operator==(const Task&) const = default;
};

/// True where backward is cut into B and W.
bool splits_backward(Schedule kind);

/// Tasks of `stage` (of `stages`) for `microbatches` microbatches of `chunks` model chunks each.
///   GPipe (Huang et al. 2019): all forwards, then all backwards, microbatches in the same order.
///   1F1B (Narayanan et al. 2019): stages - stage - 1 warm-up forwards, then one forward, one
///   backward. Interleaved 1F1B (Narayanan et al. 2021, section 2.2): microbatches in groups of
///   `stages` go through the chunks in turn; needs microbatches to be a multiple of stages.
///   ZB-H1 (Qi et al. 2023, section 3.1): 1F1B whose W come `stage` microbatches behind their B, so
///   that as many microbatches are held as in 1F1B and the last W fill the drain.
///   ZB-H2 (section 3.2): 2 (stages - stage - 1) warm-up forwards fill the ramp up too, W come
///   2 stage microbatches behind.
std::vector<Task> schedule(Schedule kind, std::int64_t stages, std::int64_t stage,
                           std::int64_t chunks, std::int64_t microbatches);

}  // namespace plait
