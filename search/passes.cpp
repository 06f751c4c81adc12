#include "search/passes.h"

#include <algorithm>

#include "core/error.h"

namespace plait {
namespace {

constexpr SimTime kNotYet = -1;

class Walk {
 public:
  Walk(const PipelineCosts& stages, const Schedules::Tasks& tasks, StepRules rules)
      : s_(stages),
        tasks_(tasks),
        rules_(rules),
        overlaps_(rules.overlaps || stages.l.zero_stage >= 2),
        forward_(static_cast<std::size_t>(s_.pieces.count * s_.microbatches), kNotYet),
        backward_(forward_.size(), kNotYet),
        at_(tasks.size()) {
    for (std::int64_t i = 0; i < s_.pieces.count; ++i) takes_.push_back(passes_of(i));
  }

  SimTime run() {
    std::size_t left = tasks_.size();
    while (left > 0) {
      const std::size_t before = left;
      bool moved = false;
      left = 0;
      for (std::size_t stage = 0; stage < tasks_.size(); ++stage) {
        moved = walk(stage) || moved;
        if (at_[stage].next < tasks_[stage].size()) ++left;
      }
      PLAIT_CHECK(moved || left < before, "a schedule that cannot make progress");
    }
    return end();
  }

 private:
  struct Place {
    std::size_t next = 0;  // task
    SimTime compute = 0, reduced = 0;
    SimTime sent_forward = 0, sent_backward = 0;  // its messages go one after the other
  };

  /// What the passes of a piece take, and the exchanges of its units.
  struct OfPiece : PassTimes {
    SimTime gather = 0, reduce = 0;
  };
  OfPiece passes_of(std::int64_t piece) const {
    const Parts parts = s_.pieces.parts(piece);
    OfPiece out;
    for (const auto pass : {&PassTimes::forward, &PassTimes::backward, &PassTimes::weights}) {
      out.*pass = s_.of(parts, pass);
    }
    out.ahead = s_.ahead(piece);
    out.gather = s_.of(parts, &UnitCosts::gather), out.reduce = s_.of(parts, &UnitCosts::reduce);
    return out;
  }
  const OfPiece& of(std::int64_t piece) const { return takes_[static_cast<std::size_t>(piece)]; }

  std::size_t index(std::int64_t piece, std::int64_t microbatch) const {
    return static_cast<std::size_t>(piece * s_.microbatches + microbatch);
  }
  bool walk(std::size_t stage) {
    Place& at = at_[stage];
    const std::vector<Task>& tasks = tasks_[stage];
    const std::size_t first = at.next;
    for (; at.next < tasks.size(); ++at.next) {
      if (!run(tasks[at.next], static_cast<std::int64_t>(stage), at)) break;
    }
    return at.next > first;
  }
  /// False when what it needs has not been sent yet.
  bool run(const Task& task, std::int64_t stage, Place& at) {
    const std::int64_t piece = s_.pieces.places.piece_of(stage, task.chunk);
    const std::size_t i = index(piece, task.microbatch);
    const bool several = s_.l.pp > 1;
    switch (task.pass) {
      case TaskPass::kForward:
        if (piece > 0 && several) {
          if (forward_[i] == kNotYet) return false;
          at.compute = std::max(at.compute, forward_[i]);
        }
        at.compute += of(piece).forward;
        if (task.microbatch == 0) wait_for_weights(task.chunk, stage, at);
        if (!s_.pieces.is_last(piece) && several) {
          forward_[index(piece + 1, task.microbatch)] = send(piece, at.compute, at.sent_forward);
        }
        return true;
      case TaskPass::kBackward:
        if (!s_.pieces.is_last(piece) && several) {
          if (backward_[i] == kNotYet) return false;
          at.compute = std::max(at.compute, backward_[i] - of(piece).ahead);
        }
        pass(task, piece, of(piece).backward, !s_.split, at);
        if (piece > 0 && several) {
          backward_[index(piece - 1, task.microbatch)] =
              send(piece - 1, at.compute, at.sent_backward);
        }
        return true;
      case TaskPass::kWeightGrad: pass(task, piece, of(piece).weights, true, at); return true;
    }
    return true;
  }
  /// Over the boundary behind a piece; two pieces of one stage send nothing.
  SimTime send(std::int64_t boundary, SimTime ready, SimTime& stream) const {
    if (s_.pieces.places.step_behind(boundary) == 0) return ready;
    stream = std::max(stream, ready) + s_.message;
    return stream;
  }
  /// ZeRO-1 and -2 gather the weights that the step before updated in the order of their use: the
  /// last layer of the chunk cannot begin before.
  void wait_for_weights(std::int64_t chunk, std::int64_t stage, Place& at) const {
    if (s_.l.zero_stage == 0 || s_.l.zero_stage == 3 || !rules_.overlaps) return;
    SimTime gathered = 0;
    for (std::int64_t c = 0; c <= chunk; ++c) {
      gathered += of(s_.pieces.places.piece_of(stage, c)).gather;
    }
    at.compute = std::max(at.compute, gathered);
  }
  /// A backward pass. The gradients that it completes are reduced after its beginning, the last
  /// ones after its end.
  void pass(const Task& task, std::int64_t piece, SimTime takes, bool completes, Place& at) const {
    const SimTime start = at.compute;
    at.compute += takes;
    const bool reduces = s_.l.zero_stage >= 2 || task.microbatch == s_.microbatches - 1;
    if (!completes || !reduces || !overlaps_) return;
    // The embedding's gradient comes with the gradient of its output, before that of the weights.
    const bool embeds = piece == 0 && !s_.split;
    const SimTime early = piece == 0 && s_.split ? s_.x.embedding.reduce : 0;
    at.reduced = std::max(at.reduced, start) + of(piece).reduce - early;
    const UnitCosts& last = embeds                        ? s_.x.embedding
                            : s_.pieces.layers(piece) > 0 ? s_.x.layers[s_.pieces.first_kind(piece)]
                            : s_.pieces.kinds.modules > 0 ? s_.x.module
                                                          : s_.x.head;
    if (embeds || piece > 0 || s_.pieces.layers(piece) > 0) {
      at.reduced = std::max(at.reduced, at.compute + last.reduce);
    }
  }

  SimTime end() const {
    SimTime ready = 0, update = 0;
    for (std::size_t stage = 0; stage < at_.size(); ++stage) {
      const auto s = static_cast<std::int64_t>(stage);
      const Parts parts = s_.pieces.parts_of_stage(s);
      SimTime gradients = std::max(at_[stage].compute, at_[stage].reduced);
      if (!overlaps_) gradients = at_[stage].compute + s_.of(parts, &UnitCosts::reduce);
      ready = std::max(ready, gradients);
      update = std::max(update, s_.of(parts, &UnitCosts::update));
    }
    if (rules_.joined) return ready + update;
    // Each unit is updated when its own gradient is there, and the stages behind the first begin
    // the next step earlier.
    return std::max(at_[0].compute + s_.of(s_.pieces.parts_of_stage(0), &UnitCosts::update),
                    at_[0].reduced);
  }

  const PipelineCosts& s_;
  const Schedules::Tasks& tasks_;
  StepRules rules_;
  bool overlaps_;                            // its gradients
  std::vector<SimTime> forward_, backward_;  // arrival at a piece, by microbatch
  std::vector<Place> at_;
  std::vector<OfPiece> takes_;
};

}  // namespace

std::shared_ptr<const Schedules::Tasks> Schedules::of(const Layout& l, std::int64_t microbatches,
                                                      const PassProfile& profile) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = known_.try_emplace({l.schedule, l.pp, l.chunks, microbatches});
  if (fresh) {
    const PipelineOptions options{.schedule = l.schedule, .chunks = l.chunks, .profile = profile};
    at->second = std::make_shared<Tasks>(schedule(options, l.pp, microbatches));
  }
  return at->second;
}

SimTime walk_passes(const PipelineCosts& stages, const Schedules::Tasks& tasks, StepRules rules) {
  return Walk(stages, tasks, rules).run();
}

}  // namespace plait
