#include "search/passes.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace plait {
namespace {

constexpr SimTime kNotYet = -1, kNever = std::numeric_limits<SimTime>::max();

class Walk {
 public:
  Walk(const PipelineCosts& stages, const Schedules::Tasks& tasks, std::int64_t microbatches,
       StepRules rules)
      : s_(stages),
        tasks_(tasks),
        microbatches_(microbatches),
        rules_(rules),
        both_ways_(stages.pieces.places.both_ways()),
        overlaps_(!both_ways_ && (stages.sums_whole ? stages.l.pp == 1
                                                    : rules.overlaps || stages.l.zero_stage >= 2)),
        forward_(static_cast<std::size_t>(s_.pieces.count * microbatches), kNotYet),
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
    for (const auto pass : {&PassTimes::forward, &PassTimes::backward, &PassTimes::weights,
                            &PassTimes::forward_turns, &PassTimes::backward_turns,
                            &PassTimes::forward_exchanges, &PassTimes::backward_exchanges}) {
      out.*pass = s_.of(parts, pass);
    }
    out.ahead = s_.ahead(piece);
    out.gather = s_.of(parts, &UnitCosts::gather), out.reduce = s_.of(parts, &UnitCosts::reduce);
    return out;
  }
  const OfPiece& of(std::int64_t piece) const { return takes_[static_cast<std::size_t>(piece)]; }

  std::size_t index(std::int64_t piece, std::int64_t microbatch) const {
    return static_cast<std::size_t>(piece * microbatches_ + microbatch);
  }
  bool walk(std::size_t stage) {
    Place& at = at_[stage];
    const std::vector<Task>& tasks = tasks_[stage];
    const std::size_t first = at.next;
    const auto s = static_cast<std::int64_t>(stage);
    while (at.next < tasks.size()) {
      const Task& task = tasks[at.next];
      const bool turns = s_.pairs && task.pairs;
      if (!(turns ? take_turns(task, tasks[at.next + 1], s, at) : run(task, s, at))) break;
      at.next += turns ? s_.split ? 3 : 2 : 1;
    }
    return at.next > first;
  }
  /// False when what it needs has not been sent yet.
  bool run(const Task& task, std::int64_t stage, Place& at) {
    const std::int64_t piece = s_.pieces.places.piece_of(stage, task.chunk);
    const SimTime begin = std::max(at.compute, may_begin(task, piece));
    if (begin == kNever) return false;
    switch (task.pass) {
      case TaskPass::kForward:
        at.compute = begin + of(piece).forward;
        if (task.microbatch == 0) wait_for_weights(task.chunk, stage, at);
        send_forward(task, piece, at.compute, at);
        return true;
      case TaskPass::kBackward:
        at.compute = begin + of(piece).backward;
        if (!s_.split) reduce(task, piece, begin, at);
        send_backward(task, piece, at.compute, at);
        return true;
      case TaskPass::kWeightGrad:
        at.compute = begin + of(piece).weights;
        reduce(task, piece, begin, at);
        return true;
    }
    return true;
  }
  /// A forward and a backward pass, with the weights' gradients: neither takes less than alone, nor
  /// both less than their compute, or their exchanges, one behind the other.
  bool take_turns(const Task& ahead, const Task& back, std::int64_t stage, Place& at) {
    const std::int64_t f = s_.pieces.places.piece_of(stage, ahead.chunk);
    const std::int64_t b = s_.pieces.places.piece_of(stage, back.chunk);
    const SimTime begin_f = std::max(at.compute, may_begin(ahead, f));
    const SimTime begin_b = std::max(at.compute, may_begin(back, b));
    if (begin_f == kNever || begin_b == kNever) return false;
    const SimTime both = std::max(of(f).forward_turns + of(b).backward_turns,
                                  of(f).forward_exchanges + of(b).backward_exchanges);
    const SimTime end_f = begin_f + of(f).forward, end_b = begin_b + of(b).backward;
    at.compute = std::max({end_f, end_b, std::min(begin_f, begin_b) + both});
    if (ahead.microbatch == 0) wait_for_weights(ahead.chunk, stage, at);
    reduce(back, b, begin_b, at);
    send_forward(ahead, f, end_f, at), send_backward(back, b, end_b, at);
    return true;
  }
  /// When what a pass needs is there, or, of a backward pass, will be when it needs it.
  SimTime may_begin(const Task& task, std::int64_t piece) const {
    const bool forward = task.pass == TaskPass::kForward;
    const bool first = forward ? piece == 0 : s_.pieces.is_last(piece);
    if (task.pass == TaskPass::kWeightGrad || first || s_.l.pp == 1) return 0;
    const SimTime sent = (forward ? forward_ : backward_)[index(piece, task.microbatch)];
    if (sent == kNotYet) return kNever;
    return forward ? sent : sent - of(piece).ahead;
  }
  void send_forward(const Task& task, std::int64_t piece, SimTime ready, Place& at) {
    if (s_.pieces.is_last(piece) || s_.l.pp == 1) return;
    forward_[index(piece + 1, task.microbatch)] = send(piece, task, ready, at.sent_forward);
  }
  void send_backward(const Task& task, std::int64_t piece, SimTime ready, Place& at) {
    if (piece == 0 || s_.l.pp == 1) return;
    backward_[index(piece - 1, task.microbatch)] = send(piece - 1, task, ready, at.sent_backward);
  }
  /// Over the boundary behind a piece; two pieces of one stage send nothing.
  SimTime send(std::int64_t boundary, const Task& task, SimTime ready, SimTime& stream) const {
    const PieceMap& places = s_.pieces.places;
    const int step = places.step_behind(boundary, task.chunk);
    if (step == 0) return ready;
    const SimTime message = s_.messages.of(places.stage_of(boundary, task.chunk), step);
    stream = std::max(stream, ready) + message;
    return stream;
  }
  /// ZeRO-1 and -2 gather the weights that the step before updated in the order of their use: the
  /// last layer of the chunk cannot begin before.
  void wait_for_weights(std::int64_t chunk, std::int64_t stage, Place& at) const {
    const bool gathers = s_.l.zero_stage == 1 || s_.l.zero_stage == 2;
    if (!gathers || both_ways_ || !rules_.gathers) return;
    SimTime gathered = 0;
    for (std::int64_t c = 0; c <= chunk; ++c) {
      gathered += of(s_.pieces.places.piece_of(stage, c)).gather;
    }
    at.compute = std::max(at.compute, gathered);
  }
  /// Gradients that a backward pass completes, after its beginning, the last ones after its end.
  void reduce(const Task& task, std::int64_t piece, SimTime begin, Place& at) const {
    const bool reduces = s_.reduces_each() || task.microbatch == microbatches_ - 1;
    if (!reduces || !overlaps_) return;
    // The embedding's gradient comes with the gradient of its output, before that of the weights.
    const bool embeds = piece == 0 && !s_.split;
    const SimTime early = piece == 0 && s_.split ? s_.x.embedding.reduce : 0;
    at.reduced = std::max(at.reduced, begin) + of(piece).reduce - early;
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
      if (!overlaps_ && !both_ways_) {
        gradients = at_[stage].compute +
                    (s_.sums_whole ? s_.reduced_last(s) : s_.of(parts, &UnitCosts::reduce));
      }
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
  std::int64_t microbatches_;
  StepRules rules_;
  bool both_ways_;  // two stages have each piece; their gradients, behind all passes, count nothing
  bool overlaps_;   // its gradients
  std::vector<SimTime> forward_, backward_;  // arrival at a piece, by microbatch
  std::vector<Place> at_;
  std::vector<OfPiece> takes_;
};

}  // namespace

std::shared_ptr<const Schedules::Tasks> Schedules::of(const Layout& l, std::int64_t microbatches,
                                                      const PipelineOptions& options) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = known_.try_emplace({l.schedule, l.pp, l.chunks, microbatches});
  if (fresh) at->second = std::make_shared<Tasks>(schedule(options, l.pp, microbatches));
  return at->second;
}

SimTime walk_passes(const PipelineCosts& stages, const Schedules::Tasks& tasks,
                    std::int64_t microbatches, StepRules rules) {
  return Walk(stages, tasks, microbatches, rules).run();
}

}  // namespace plait
