#pragma once
// How long a schedule takes where every pass takes the same on every stage: each stage does its
// tasks in order, each as soon as what it needs has arrived.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "plan/schedule.h"

namespace plait {

/// Of one chunk. Times without a unit.
struct PassTimes {
  std::int64_t f = 1, b = 1, w = 1, message = 0;
};

struct Walked {
  std::int64_t longest_span = 0;  // of a stage, from its first pass to its last one
  std::int64_t end = 0;           // of all
};

/// Fails the test, and has no times, where the stages block one another.
inline Walked walk_passes(const PipelineOptions& options, std::int64_t stages,
                          std::int64_t microbatches, PassTimes times) {
  const PieceMap places(options.schedule, stages, options.chunks);
  const std::vector<std::vector<Task>> tasks = schedule(options, stages, microbatches);
  std::map<std::tuple<TaskPass, std::int64_t, std::int32_t>, std::int64_t> ended;  // by piece
  std::vector<std::int64_t> now(tasks.size()), begin(tasks.size(), -1);
  std::vector<std::size_t> done(tasks.size());
  const std::int64_t lasts[] = {times.f, times.b, times.w};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < tasks.size(); ++s) {
      for (; done[s] < tasks[s].size(); ++done[s], moved = true) {
        const Task& t = tasks[s][done[s]];
        const std::int64_t piece = places.piece_of(static_cast<std::int64_t>(s), t.chunk);
        std::int64_t ready = 0;
        const std::int64_t from = piece + (t.pass == TaskPass::kForward ? -1 : 1);
        if (t.pass != TaskPass::kWeightGrad && from >= 0 && from < places.count()) {
          const auto sent = ended.find({t.pass, from, t.microbatch});
          if (sent == ended.end()) break;
          const bool travels = places.step_behind(std::min(piece, from), t.chunk) != 0;
          ready = sent->second + (travels ? times.message : 0);
        }
        const std::int64_t start = std::max(now[s], ready);
        if (begin[s] < 0) begin[s] = start;
        now[s] = start + lasts[static_cast<std::size_t>(t.pass)];
        ended[{t.pass, piece, t.microbatch}] = now[s];
      }
    }
  }
  Walked out;
  for (std::size_t s = 0; s < tasks.size(); ++s) {
    EXPECT_EQ(done[s], tasks[s].size()) << "stage " << s << " waits for ever";
    if (done[s] < tasks[s].size()) return {};
    out.longest_span = std::max(out.longest_span, now[s] - begin[s]);
    out.end = std::max(out.end, now[s]);
  }
  return out;
}

/// Chunk passes whose activations a stage holds at once: from F to the last pass.
inline std::int64_t most_in_flight(const std::vector<Task>& tasks) {
  const bool splits =
      std::ranges::any_of(tasks, [](const Task& t) { return t.pass == TaskPass::kWeightGrad; });
  const TaskPass last = splits ? TaskPass::kWeightGrad : TaskPass::kBackward;
  std::int64_t now = 0, most = 0;
  for (const Task& t : tasks) {
    if (t.pass == TaskPass::kForward) ++now;
    if (t.pass == last) --now;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace plait
