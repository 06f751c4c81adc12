#pragma once
// How long a schedule takes where every pass takes the same on every stage: each stage does its
// tasks in order, each as soon as what it needs has arrived. The passes of a pair may be done side
// by side: they begin when both can, and end when the work of both is done.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/schedule.h"

namespace plait {

/// Of one chunk. Times without a unit.
struct PassTicks {
  std::int64_t f = 1, b = 1, w = 1, message = 0;
};

struct Walked {
  std::int64_t longest_span = 0;  // of a stage, from its first pass to its last one
  std::int64_t end = 0;           // of all
};

enum class Pairs { kInTurn, kSideBySide };

class PassWalk {
 public:
  PassWalk(const PipelineOptions& options, std::int64_t stages, std::int64_t microbatches,
           PassTicks times, Pairs pairs)
      : places_(options.schedule, stages, options.chunks),
        tasks_(schedule(options, stages, microbatches)),
        times_(times),
        side_by_side_(pairs == Pairs::kSideBySide),
        now_(tasks_.size()),
        begin_(tasks_.size(), -1),
        done_(tasks_.size()) {}

  /// Fails the test, and has no times, where the stages block one another.
  Walked run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < tasks_.size(); ++s) {
        while (done_[s] < tasks_[s].size() && step(s)) moved = true;
      }
    }
    Walked out;
    for (std::size_t s = 0; s < tasks_.size(); ++s) {
      EXPECT_EQ(done_[s], tasks_[s].size()) << "stage " << s << " waits for ever";
      if (done_[s] < tasks_[s].size()) return {};
      out.longest_span = std::max(out.longest_span, now_[s] - begin_[s]);
      out.end = std::max(out.end, now_[s]);
    }
    return out;
  }

 private:
  std::int64_t piece_of(std::size_t s, const Task& t) const {
    return places_.piece_of(static_cast<std::int64_t>(s), t.chunk);
  }
  /// When what the task needs is there; none: nobody has sent it yet.
  std::optional<std::int64_t> ready(std::size_t s, const Task& t) const {
    const std::int64_t piece = piece_of(s, t),
                       from = piece + (t.pass == TaskPass::kForward ? -1 : 1);
    if (t.pass == TaskPass::kWeightGrad || from < 0 || from >= places_.count()) return 0;
    const auto sent = ended_.find({t.pass, from, t.microbatch});
    if (sent == ended_.end()) return std::nullopt;
    const bool travels = places_.step_behind(std::min(piece, from), t.chunk) != 0;
    return sent->second + (travels ? times_.message : 0);
  }
  /// F and B, with the W of that B where it comes right behind.
  std::size_t size_of_pair(std::size_t s) const {
    const std::size_t third = done_[s] + 2;
    return third < tasks_[s].size() && tasks_[s][third].pass == TaskPass::kWeightGrad ? 3 : 2;
  }
  /// The next task of a stage, or pair of them; false where it has to wait.
  bool step(std::size_t s) {
    const Task& first = tasks_[s][done_[s]];
    const std::size_t count = side_by_side_ && first.pairs ? size_of_pair(s) : 1;
    std::int64_t start = now_[s], takes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Task& t = tasks_[s][done_[s] + i];
      const std::optional<std::int64_t> at = ready(s, t);
      if (!at) return false;
      start = std::max(start, *at);
      const std::int64_t lasts[] = {times_.f, times_.b, times_.w};
      takes += lasts[static_cast<std::size_t>(t.pass)];
    }
    if (begin_[s] < 0) begin_[s] = start;
    now_[s] = start + takes;
    for (std::size_t i = 0; i < count; ++i) {
      const Task& t = tasks_[s][done_[s]++];
      ended_[{t.pass, piece_of(s, t), t.microbatch}] = now_[s];
    }
    return true;
  }

  PieceMap places_;
  std::vector<std::vector<Task>> tasks_;
  PassTicks times_;
  bool side_by_side_;
  std::map<std::tuple<TaskPass, std::int64_t, std::int32_t>, std::int64_t> ended_;  // by piece
  std::vector<std::int64_t> now_, begin_;
  std::vector<std::size_t> done_;
};

inline Walked walk_passes(const PipelineOptions& options, std::int64_t stages,
                          std::int64_t microbatches, PassTicks times,
                          Pairs pairs = Pairs::kInTurn) {
  return PassWalk(options, stages, microbatches, times, pairs).run();
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
