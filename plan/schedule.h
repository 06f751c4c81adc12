#pragma once
// Pipeline schedules as data: which stage holds which piece of the model, and in which order a
// stage does passes over (chunk, microbatch) pairs. One table says what schedules there are.
//
// f, b, w: what a forward pass takes, B, and W; p stages, m microbatches.

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
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
  /// F: it and the B behind it need nothing of each other, and may take turns.
  bool pairs = false;
  bool operator==(const Task&) const = default;
};

/// How the pieces of the model go through the stages. Loop: each chunk from the first stage to the
/// last. V: every second chunk back, so that two neighbouring pieces share a stage at the turn, and
/// the first piece and the last one share the first stage. Both ways: one piece for each stage,
/// held by that one and by the one as far from the other end; chunk 0 is the piece of the
/// microbatches that enter at the first stage, chunk 1 that of those that enter at the last one and
/// go up.
enum class PipelineShape : std::uint8_t { kLoop, kV, kBothWays };

struct ScheduleKind {
  Schedule schedule;
  std::string_view name;  // as scenarios write it
  std::int64_t fewest_stages, fewest_chunks, most_chunks;
  bool splits_backward;  // into B and W
  PipelineShape shape;
  bool searched;  // by a search that is not told which
};
inline constexpr std::int64_t kAnyChunks = std::numeric_limits<std::int64_t>::max();

/// In the order of Schedule.
///   sequential: a microbatch goes forward and back before the next one begins; one stage works at
///   a time (naive model parallelism). gpipe (Huang et al. 2019): all forwards, then all backwards,
///   microbatches in the same order. 1f1b (Narayanan et al. 2019): stages - stage - 1 warm-up
///   forwards, then one forward, one backward. interleaved (Narayanan et al. 2021, section 2.2):
///   microbatches in groups go through the chunks in turn; what the last group has left over must
///   fill the stages too (groups_fit). zb-h1 (Qi et al. 2023, section 2.1): 1F1B whose W come
///   `stage` microbatches behind their B, so that as many microbatches are held as in 1F1B and the
///   last W fill the drain. zb-h2 (section 2.2): 2 (stages - stage - 1) warm-up forwards fill the
///   ramp up too, W come 2 stage microbatches behind. zb-1p, zb-2p (section 3): laid out for given
///   durations by automatic_schedule.h, holding the activations of no more than p microbatches, or
///   2 p. zb-v (section 6), dualpipe and dualpipe-v (DeepSeek-AI 2024, 2025): v_schedules.cpp.
///   v-half, v-min (Qi et al. 2024): v_half_and_min.cpp.
inline constexpr std::array<ScheduleKind, 13> kSchedules = {{
    {Schedule::kGpipe, "gpipe", 1, 1, 1, false, PipelineShape::kLoop, true},
    {Schedule::k1f1b, "1f1b", 1, 1, 1, false, PipelineShape::kLoop, true},
    {Schedule::kInterleaved, "interleaved", 2, 2, kAnyChunks, false, PipelineShape::kLoop, true},
    {Schedule::kZbH1, "zb-h1", 2, 1, 1, true, PipelineShape::kLoop, true},
    {Schedule::kZbH2, "zb-h2", 2, 1, 1, true, PipelineShape::kLoop, true},
    {Schedule::kZb1p, "zb-1p", 2, 1, 1, true, PipelineShape::kLoop, false},
    {Schedule::kZb2p, "zb-2p", 2, 1, 1, true, PipelineShape::kLoop, false},
    {Schedule::kZbV, "zb-v", 2, 2, 2, true, PipelineShape::kV, false},
    {Schedule::kDualPipeV, "dualpipe-v", 2, 2, 2, true, PipelineShape::kV, false},
    {Schedule::kDualPipe, "dualpipe", 2, 2, 2, true, PipelineShape::kBothWays, false},
    {Schedule::kVHalf, "v-half", 2, 2, 2, true, PipelineShape::kV, false},
    {Schedule::kVMin, "v-min", 2, 2, 2, true, PipelineShape::kV, false},
    {Schedule::kSequential, "sequential", 1, 1, 1, false, PipelineShape::kLoop, false},
}};
constexpr const ScheduleKind& kind_of(Schedule s) {
  return kSchedules[static_cast<std::size_t>(s)];
}
/// Interleaved: microbatches that go through a chunk one behind the other, before they go through
/// the next one: as many as there are stages, or more, which leaves messages the time of the
/// further ones (Megatron-Core's --microbatch-group-size-per-virtual-pipeline-stage).
constexpr std::int64_t group_of(const PipelineOptions& p, std::int64_t stages) {
  return p.microbatch_group > 0 ? p.microbatch_group : stages;
}
/// No stage of the interleaved schedule waits for a microbatch that comes behind its own: every
/// group has at least one for each stage, the last one too (Megatron-LM
/// megatron/core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving).
constexpr bool groups_fit(const PipelineOptions& p, std::int64_t stages,
                          std::int64_t microbatches) {
  const std::int64_t group = group_of(p, stages), last = microbatches % group;
  return group >= stages && group <= microbatches && (last == 0 || last >= stages);
}
/// The smallest groups that fit; 0: there are fewer microbatches than stages.
std::int64_t fitting_group(std::int64_t stages, std::int64_t microbatches);
/// Laid out for durations and a number of microbatches (automatic_schedule.h).
constexpr bool is_automatic(Schedule s) { return s == Schedule::kZb1p || s == Schedule::kZb2p; }
/// True where backward is cut into B and W.
constexpr bool splits_backward(Schedule s) { return kind_of(s).splits_backward; }

/// The pieces of the model, in the order of its layers, on p stages with v chunks each: p v of
/// them, or p where they go both ways. There a piece is on two stages, one for each chunk.
struct PieceMap {
  PipelineShape shape = PipelineShape::kLoop;
  std::int64_t stages = 1, chunks = 1;

  PieceMap(Schedule schedule, std::int64_t of_stages, std::int64_t of_chunks)
      : shape(kind_of(schedule).shape), stages(of_stages), chunks(of_chunks) {}
  bool both_ways() const { return shape == PipelineShape::kBothWays; }
  std::int64_t count() const { return both_ways() ? stages : stages * chunks; }
  std::int64_t stage_of(std::int64_t piece, std::int64_t chunk = 0) const {
    const std::int64_t along = piece % stages;
    if (both_ways()) return chunk == 0 ? along : stages - 1 - along;
    return goes_back(piece / stages) ? stages - 1 - along : along;
  }
  std::int64_t piece_of(std::int64_t stage, std::int64_t chunk) const {
    if (both_ways()) return stage_of(stage, chunk);
    return chunk * stages + (goes_back(chunk) ? stages - 1 - stage : stage);
  }
  /// Steps along pp from the stage of `piece` to that of the next one: 1, -1, or 0 where it stays.
  int step_behind(std::int64_t piece, std::int64_t chunk = 0) const {
    if (shape == PipelineShape::kLoop) return stages > 1 ? 1 : 0;
    return static_cast<int>(stage_of(piece + 1, chunk) - stage_of(piece, chunk));
  }

 private:
  bool goes_back(std::int64_t chunk) const { return shape == PipelineShape::kV && chunk % 2 == 1; }
};

/// The first piece and the last one, with embedding and head, are on one stage.
inline bool ends_meet(const PieceMap& pieces) {
  return pieces.both_ways() || pieces.stage_of(pieces.count() - 1) == 0;
}
inline bool ends_meet(const Strategy& s) {
  return ends_meet(PieceMap(s.pipeline.schedule, s.mesh[Axis::kPp], s.pipeline.chunks));
}
/// Every stage has a copy of what the one as far from the other end has.
inline bool both_ways(const Strategy& s) {
  return kind_of(s.pipeline.schedule).shape == PipelineShape::kBothWays;
}

/// The schedule has passes that take turns on request: each pair of one forward, one backward pass,
/// with time for a message between one and the next; without stages there are no messages.
inline bool can_pair(const PipelineOptions& p, std::int64_t stages) {
  switch (p.schedule) {
    case Schedule::kInterleaved:
    case Schedule::kDualPipe:
    case Schedule::kDualPipeV: return true;
    case Schedule::k1f1b: return stages == 1;
    default: return false;
  }
}

/// Tasks of every stage.
std::vector<std::vector<Task>> schedule(const PipelineOptions& options, std::int64_t stages,
                                        std::int64_t microbatches);
/// Tasks of one, with the default profile.
std::vector<Task> schedule(Schedule kind, std::int64_t stages, std::int64_t stage,
                           std::int64_t chunks, std::int64_t microbatches);

/// For `schedule`: v_schedules.cpp.
std::vector<Task> zb_v(std::int64_t stages, std::int64_t stage, std::int64_t microbatches);
std::vector<Task> dualpipe_v(std::int64_t stages, std::int64_t stage, std::int64_t microbatches);
std::vector<Task> dualpipe(std::int64_t stages, std::int64_t stage, std::int64_t microbatches);
/// v_half_and_min.cpp, all stages: v-half or v-min.
std::vector<std::vector<Task>> building_blocks(Schedule kind, std::int64_t stages,
                                               std::int64_t microbatches);

}  // namespace plait
