#include "plan/automatic_schedule.h"

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

/// Times and activations as integers, so that every machine lays out the same schedule: a forward
/// pass takes a million, and a microbatch holds a million.
constexpr std::int64_t kOne = 1'000'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct Ticks {
  explicit Ticks(const PassProfile& p)
      : backward(of(p.backward / p.forward)),
        weights(of(p.weights / p.forward)),
        message(of(p.message / p.forward)),
        kept(of(p.kept)) {}
  static std::int64_t of(double x) { return std::llround(x * static_cast<double>(kOne)); }
  std::int64_t forward = kOne, backward, weights, message, kept;
};

struct Policy {
  std::int64_t shortest_wait;  // that W is done in, in quarters of w
  bool takes_turns;            // F and B; else B first
  std::int64_t more_ahead;     // forwards before the first B, beyond those that end in time
};

struct Stage {
  std::int64_t now = 0, begin = -1;
  std::int64_t ahead = 0;                         // forwards before the first B, at most
  std::vector<std::int64_t> forwards, backwards;  // when each ended
  std::int64_t weights = 0;                       // how many W are done
  bool forward_last = true;                       // of F and B
  std::vector<Task> tasks;
};

class Walk {
 public:
  Walk(const Ticks& ticks, const Policy& policy, std::int64_t stages, std::int64_t microbatches,
       std::int64_t held)
      : t_(ticks), policy_(policy), microbatches_(microbatches), held_(held) {
    stages_.resize(static_cast<std::size_t>(stages));
    for (std::int64_t s = 0; s < stages; ++s) {
      const std::int64_t further = stages - s - 1;
      const std::int64_t first_b =
          (further + 1) * t_.forward + further * (t_.backward + 2 * t_.message);
      stages_[static_cast<std::size_t>(s)].ahead =
          std::min(held, first_b / t_.forward + policy.more_ahead);
    }
  }

  void run() {
    while (Stage* s = next()) advance(*s);
  }
  std::int64_t longest() const {
    std::int64_t out = 0;
    for (const Stage& s : stages_) out = std::max(out, s.now - s.begin);
    return out;
  }
  std::vector<std::vector<Task>> tasks() const {
    std::vector<std::vector<Task>> out;
    for (const Stage& s : stages_) out.push_back(s.tasks);
    return out;
  }

 private:
  bool done(const Stage& s) const { return s.weights == microbatches_; }
  static std::int64_t count(const std::vector<std::int64_t>& ends) {
    return static_cast<std::int64_t>(ends.size());
  }
  /// The stage whose time is earliest, of those that are not done.
  Stage* next() {
    Stage* out = nullptr;
    for (Stage& s : stages_) {
      if (!done(s) && (out == nullptr || s.now < out->now)) out = &s;
    }
    return out;
  }
  /// When the stage can do its next forward; kNever where that is not known yet, or there is no
  /// room.
  std::int64_t forward_at(const Stage& s) const {
    const std::int64_t k = count(s.forwards), b = count(s.backwards);
    const std::int64_t holds = (k - b) * kOne + (b - s.weights) * t_.kept;
    if (k == microbatches_ || holds + kOne > held_ * kOne) return kNever;
    if (b == 0 && k >= s.ahead) return kNever;
    return &s == &stages_.front() ? 0 : arrival((&s - 1)->forwards, k);
  }
  std::int64_t backward_at(const Stage& s) const {
    const std::int64_t k = count(s.backwards);
    if (k == count(s.forwards)) return kNever;
    if (&s == &stages_.back()) return s.forwards[static_cast<std::size_t>(k)];
    return arrival((&s + 1)->backwards, k);
  }
  std::int64_t arrival(const std::vector<std::int64_t>& ends, std::int64_t k) const {
    return k < count(ends) ? ends[static_cast<std::size_t>(k)] + t_.message : kNever;
  }

  void advance(Stage& s) {
    const std::int64_t f = forward_at(s), b = backward_at(s), first = std::min(f, b);
    if (first <= s.now) {
      const bool both = std::max(f, b) <= s.now;
      const bool forward = both ? policy_.takes_turns && !s.forward_last : f <= s.now;
      return forward ? do_forward(s) : do_backward(s);
    }
    const bool long_wait =
        first == kNever || 4 * (first - s.now) >= policy_.shortest_wait * t_.weights;
    if (s.weights < count(s.backwards) && long_wait) return do_weights(s);
    s.now = first != kNever ? first : next_event(s);
  }
  /// When another stage does something next: until then nothing arrives.
  std::int64_t next_event(const Stage& s) const {
    std::int64_t out = kNever;
    for (const Stage& other : stages_) {
      if (!done(other) && other.now > s.now) out = std::min(out, other.now);
    }
    return out != kNever ? out : s.now + 1;
  }
  void do_forward(Stage& s) {
    spend(s, t_.forward, {0, static_cast<std::int32_t>(count(s.forwards)), TaskPass::kForward});
    s.forwards.push_back(s.now), s.forward_last = true;
  }
  void do_backward(Stage& s) {
    spend(s, t_.backward, {0, static_cast<std::int32_t>(count(s.backwards)), TaskPass::kBackward});
    s.backwards.push_back(s.now), s.forward_last = false;
  }
  void do_weights(Stage& s) {
    spend(s, t_.weights, {0, static_cast<std::int32_t>(s.weights), TaskPass::kWeightGrad});
    ++s.weights;
  }
  static void spend(Stage& s, std::int64_t time, const Task& task) {
    if (s.begin < 0) s.begin = s.now;
    s.now += time;
    s.tasks.push_back(task);
  }

  const Ticks& t_;
  const Policy& policy_;
  std::int64_t microbatches_, held_;
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<std::vector<Task>> automatic_schedule(const PassProfile& profile, std::int64_t stages,
                                                  std::int64_t microbatches, std::int64_t held) {
  const Ticks ticks(profile);
  std::vector<std::vector<Task>> best;
  std::int64_t shortest = kNever;
  // Of equally long ones, that whose stages take turns: it lasts best where passes are not what the
  // profile says.
  for (const std::int64_t wait : {0, 2, 4}) {
    for (const bool turns : {true, false}) {
      for (const std::int64_t more : {0, 1}) {
        const Policy policy{wait, turns, more};
        Walk walk(ticks, policy, stages, microbatches, held);
        walk.run();
        if (walk.longest() >= shortest) continue;
        shortest = walk.longest(), best = walk.tasks();
      }
    }
  }
  return best;
}

}  // namespace plait
