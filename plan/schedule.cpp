#include "plan/schedule.h"

#include <algorithm>

#include "plan/automatic_schedule.h"

namespace plait {
namespace {

/// Microbatches in groups of `group`, the last of which may be smaller, through `chunks` chunks.
struct Turns {
  std::int64_t group, chunks, microbatches;

  /// The k-th forward (or backward, with chunks counted from the last).
  Task task(std::int64_t k, TaskPass pass) const {
    const std::int64_t before = k / (group * chunks) * group;  // microbatches of earlier groups
    const std::int64_t size = std::min(group, microbatches - before);
    const std::int64_t within = k - before * chunks, chunk = within / size;
    return {static_cast<std::int16_t>(pass == TaskPass::kForward ? chunk : chunks - 1 - chunk),
            static_cast<std::int32_t>(before + within % size), pass};
  }
};

std::int64_t warm_up(Schedule kind, std::int64_t stages, std::int64_t stage, const Turns& turns) {
  const std::int64_t microbatches = turns.microbatches, chunks = turns.chunks;
  switch (kind) {
    case Schedule::kGpipe: return microbatches;
    case Schedule::k1f1b:
    case Schedule::kZbH1: return std::min(stages - stage - 1, microbatches);
    case Schedule::kZbH2: return std::min(2 * (stages - stage - 1), microbatches);
    case Schedule::kInterleaved:
      return std::min((stages - stage - 1) * 2 + (chunks - 1) * turns.group, microbatches * chunks);
    case Schedule::kSequential:
    case Schedule::kZb1p:
    case Schedule::kZb2p:
    case Schedule::kZbV:
    case Schedule::kDualPipeV:
    case Schedule::kDualPipe:
    case Schedule::kVHalf:
    case Schedule::kVMin: return 0;
  }
  return 0;
}

/// Microbatches by which W comes behind B.
std::int64_t weight_grad_lag(Schedule kind, std::int64_t stage) {
  return kind == Schedule::kZbH2 ? 2 * stage : stage;
}

/// Warm-up forwards, then one forward, one backward, with W behind where backward is split. Those
/// that pair are one forward further apart, which then is not what the backward pass waits for.
std::vector<Task> alternating(const PipelineOptions& options, std::int64_t stages,
                              std::int64_t stage, std::int64_t microbatches) {
  const Schedule kind = options.schedule;
  const bool pairs = options.pairs_passes();
  const std::int64_t group = options.chunks == 1 ? 1 : group_of(options, stages);
  const Turns turns{group, options.chunks, microbatches};
  const std::int64_t total = microbatches * options.chunks;
  const std::int64_t ahead = std::min(warm_up(kind, stages, stage, turns) + (pairs ? 1 : 0), total);
  const bool splits = splits_backward(kind);
  const std::int64_t lag = splits ? std::min(weight_grad_lag(kind, stage), total) : 0;
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>((splits ? 3 : 2) * total));
  const auto push = [&](std::int64_t k, TaskPass pass) { tasks.push_back(turns.task(k, pass)); };
  for (std::int64_t k = 0; k < ahead; ++k) push(k, TaskPass::kForward);
  for (std::int64_t k = 0; k < total; ++k) {
    if (k + ahead < total) {
      push(k + ahead, TaskPass::kForward);
      tasks.back().pairs = pairs;
    }
    push(k, TaskPass::kBackward);
    if (splits && k >= lag) push(k - lag, TaskPass::kWeightGrad);
  }
  for (std::int64_t k = total - lag; k < total; ++k) push(k, TaskPass::kWeightGrad);
  return tasks;
}

bool repeats_a_block(Schedule kind) { return kind == Schedule::kVHalf || kind == Schedule::kVMin; }

/// Of schedules that are made stage by stage.
std::vector<Task> of_stage(const PipelineOptions& options, std::int64_t stages, std::int64_t stage,
                           std::int64_t microbatches) {
  switch (options.schedule) {
    case Schedule::kZbV: return zb_v(stages, stage, microbatches);
    case Schedule::kDualPipeV: return dualpipe_v(stages, stage, microbatches);
    case Schedule::kDualPipe: return dualpipe(stages, stage, microbatches);
    default: return alternating(options, stages, stage, microbatches);
  }
}

}  // namespace

std::int64_t fitting_group(std::int64_t stages, std::int64_t microbatches) {
  for (std::int64_t group = stages; group <= microbatches; ++group) {
    if (groups_fit({.microbatch_group = group}, stages, microbatches)) return group;
  }
  return 0;
}

std::vector<std::vector<Task>> schedule(const PipelineOptions& options, std::int64_t stages,
                                        std::int64_t microbatches) {
  if (is_automatic(options.schedule)) {
    const std::int64_t held = options.schedule == Schedule::kZb1p ? stages : 2 * stages;
    return automatic_schedule(options.profile, stages, microbatches, held);
  }
  if (repeats_a_block(options.schedule)) {
    return building_blocks(options.schedule, stages, microbatches);
  }
  std::vector<std::vector<Task>> out;
  for (std::int64_t s = 0; s < stages; ++s) {
    out.push_back(of_stage(options, stages, s, microbatches));
  }
  return out;
}

std::vector<Task> schedule(Schedule kind, std::int64_t stages, std::int64_t stage,
                           std::int64_t chunks, std::int64_t microbatches) {
  const PipelineOptions options{.schedule = kind, .chunks = chunks};
  if (is_automatic(kind) || repeats_a_block(kind)) {
    return schedule(options, stages, microbatches)[static_cast<std::size_t>(stage)];
  }
  return of_stage(options, stages, stage, microbatches);
}

}  // namespace plait
