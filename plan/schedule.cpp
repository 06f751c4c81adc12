#include "plan/schedule.h"

#include <algorithm>

namespace plait {
namespace {

/// The k-th forward (or backward, with chunks counted from the last) of the interleaved order.
Task interleaved_task(std::int64_t k, std::int64_t stages, std::int64_t chunks, bool forward) {
  const std::int64_t group = stages * chunks;
  const std::int64_t chunk = k % group / stages;
  const std::int64_t microbatch = k / group * stages + k % stages;
  return {static_cast<std::int16_t>(forward ? chunk : chunks - 1 - chunk),
          static_cast<std::int32_t>(microbatch), forward};
}

std::int64_t warm_up(Schedule kind, std::int64_t stages, std::int64_t stage, std::int64_t chunks,
                     std::int64_t microbatches) {
  switch (kind) {
    case Schedule::kGpipe: return microbatches;
    case Schedule::k1f1b: return std::min(stages - stage - 1, microbatches);
    case Schedule::kInterleaved:
      return std::min((stages - stage - 1) * 2 + (chunks - 1) * stages, microbatches * chunks);
  }
  return 0;
}

}  // namespace

std::vector<Task> schedule(Schedule kind, std::int64_t stages, std::int64_t stage,
                           std::int64_t chunks, std::int64_t microbatches) {
  const std::int64_t total = microbatches * chunks;
  const std::int64_t ahead = warm_up(kind, stages, stage, chunks, microbatches);
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>(2 * total));
  const auto push = [&](std::int64_t k, bool forward) {
    tasks.push_back(interleaved_task(k, chunks == 1 ? 1 : stages, chunks, forward));
  };
  for (std::int64_t k = 0; k < ahead; ++k) push(k, true);
  for (std::int64_t k = ahead; k < total; ++k) push(k, true), push(k - ahead, false);
  for (std::int64_t k = total - ahead; k < total; ++k) push(k, false);
  return tasks;
}

}  // namespace plait
