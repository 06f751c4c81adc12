#include "plan/schedule.h"

#include <algorithm>

#include "plan/automatic_schedule.h"

namespace plait {
namespace {

/// The k-th forward (or backward, with chunks counted from the last) of the interleaved order.
Task interleaved_task(std::int64_t k, std::int64_t stages, std::int64_t chunks, TaskPass pass) {
  const std::int64_t group = stages * chunks;
  const std::int64_t chunk = k % group / stages;
  const std::int64_t microbatch = k / group * stages + k % stages;
  return {static_cast<std::int16_t>(pass == TaskPass::kForward ? chunk : chunks - 1 - chunk),
          static_cast<std::int32_t>(microbatch), pass};
}

std::int64_t warm_up(Schedule kind, std::int64_t stages, std::int64_t stage, std::int64_t chunks,
                     std::int64_t microbatches) {
  switch (kind) {
    case Schedule::kGpipe: return microbatches;
    case Schedule::k1f1b:
    case Schedule::kZbH1: return std::min(stages - stage - 1, microbatches);
    case Schedule::kZbH2: return std::min(2 * (stages - stage - 1), microbatches);
    case Schedule::kInterleaved:
      return std::min((stages - stage - 1) * 2 + (chunks - 1) * stages, microbatches * chunks);
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
std::vector<Task> alternating(Schedule kind, std::int64_t stages, std::int64_t stage,
                              std::int64_t chunks, std::int64_t microbatches, bool pairs) {
  const std::int64_t total = microbatches * chunks;
  const std::int64_t ahead =
      std::min(warm_up(kind, stages, stage, chunks, microbatches) + (pairs ? 1 : 0), total);
  const bool splits = splits_backward(kind);
  const std::int64_t lag = splits ? std::min(weight_grad_lag(kind, stage), total) : 0;
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>((splits ? 3 : 2) * total));
  const auto push = [&](std::int64_t k, TaskPass pass) {
    tasks.push_back(interleaved_task(k, chunks == 1 ? 1 : stages, chunks, pass));
  };
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

bool is_automatic(Schedule kind) { return kind == Schedule::kZb1p || kind == Schedule::kZb2p; }
bool repeats_a_block(Schedule kind) { return kind == Schedule::kVHalf || kind == Schedule::kVMin; }

/// Of schedules that are made stage by stage.
std::vector<Task> of_stage(const PipelineOptions& options, std::int64_t stages, std::int64_t stage,
                           std::int64_t microbatches) {
  switch (options.schedule) {
    case Schedule::kZbV: return zb_v(stages, stage, microbatches);
    case Schedule::kDualPipeV: return dualpipe_v(stages, stage, microbatches);
    case Schedule::kDualPipe: return dualpipe(stages, stage, microbatches);
    default:
      return alternating(options.schedule, stages, stage, options.chunks, microbatches,
                         options.pairs_passes());
  }
}

}  // namespace

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
