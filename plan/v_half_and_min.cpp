// V-Half and V-Min (Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv
// 2405.15362): one microbatch's passes through a V, the building block, laid out on a time axis
// whose unit is a pass, and repeated every six units, which is what a microbatch takes of a stage.
// How long a block lives between F and B on a stage is how many microbatches it holds; these two
// are laid out so that all stages hold alike, (p + 2) / 2 or (p + 4) / 3 microbatches of a stage
// where 1F1B's first holds p. W take the free places behind their B. Then every pass moves ahead
// to the first free place behind what it needs, as long as no more is held than before: the
// squeezing and reordering of the paper, section 3.
#include <algorithm>
#include <array>

#include "plan/schedule.h"

namespace plait {
namespace {

/// A microbatch's passes on a stage, in this order.
enum Kind : std::uint8_t { kF0, kF1, kB1, kB0, kW1, kW0, kKinds };
constexpr std::int64_t kPeriod = kKinds;
constexpr std::array<Task, kKinds> kTaskOf = {{{0, 0, TaskPass::kForward},
                                               {1, 0, TaskPass::kForward},
                                               {1, 0, TaskPass::kBackward},
                                               {0, 0, TaskPass::kBackward},
                                               {1, 0, TaskPass::kWeightGrad},
                                               {0, 0, TaskPass::kWeightGrad}}};

/// When the first microbatch's F and B are on a stage: the offsets of the paper's appendix, with a
/// pause before the way back where passes of two microbatches would else fall on the same time.
std::array<std::int64_t, 4> block_of(Schedule kind, std::int64_t stages, std::int64_t stage) {
  const std::int64_t p = stages, i = stage;
  if (kind == Schedule::kVMin) {
    const std::int64_t pause = p % 3 == 0 ? 2 : 0;
    return {i, 2 * p - 1 - i, 2 * p + pause + i, 4 * p + pause - 1 - i};
  }
  const std::int64_t pause = p % 2 == 0 ? 3 : 0;
  return {2 * i, 3 * p - 2 - i, 3 * p + pause - 1 + 2 * i, 6 * p + pause - 2 - i};
}

class Timetable {
 public:
  Timetable(Schedule kind, std::int64_t stages, std::int64_t microbatches)
      : p_(stages), m_(microbatches) {
    const std::int64_t length = kPeriod * (m_ + 2 * p_ + 2);
    const std::vector<Slot> row(static_cast<std::size_t>(length), kFree);
    for (std::int64_t s = 0; s < p_; ++s) {
      rows_.push_back(row);
      times_.emplace_back(static_cast<std::size_t>(kKinds * m_));
      const std::array<std::int64_t, 4> block = block_of(kind, p_, s);
      for (std::int64_t k = 0; k < 4; ++k) {
        for (std::int64_t j = 0; j < m_; ++j) {
          put(s, slot(k, j), block[static_cast<std::size_t>(k)] + kPeriod * j);
        }
      }
      place_weights(s);
      held_.push_back(held(s));
      for (const std::int64_t n : held_.back()) most_ = std::max(most_, n);
    }
  }

  void move_ahead() {
    const auto length = static_cast<std::int64_t>(rows_[0].size());
    for (std::int64_t t = 0; t < length; ++t) {
      for (std::int64_t s = 0; s < p_; ++s) {
        if (at(s, t) != kFree) move_ahead(s, at(s, t), t);
      }
    }
  }

  std::vector<Task> tasks(std::int64_t stage) const {
    std::vector<Task> out;
    for (const Slot slot : rows_[static_cast<std::size_t>(stage)]) {
      if (slot == kFree) continue;
      out.push_back(kTaskOf.at(static_cast<std::size_t>(slot % kKinds)));
      out.back().microbatch = static_cast<std::int32_t>(slot / kKinds);
    }
    return out;
  }

 private:
  using Slot = std::int64_t;  // kinds, microbatch by microbatch
  static constexpr Slot kFree = -1;
  static Slot slot(std::int64_t kind, std::int64_t microbatch) {
    return microbatch * kKinds + kind;
  }
  Slot& at(std::int64_t s, std::int64_t t) {
    return rows_[static_cast<std::size_t>(s)][static_cast<std::size_t>(t)];
  }
  std::int64_t& time_of(std::int64_t s, Slot slot) {
    return times_[static_cast<std::size_t>(s)][static_cast<std::size_t>(slot)];
  }
  void put(std::int64_t s, Slot slot, std::int64_t t) { at(s, t) = slot, time_of(s, slot) = t; }

  /// In the order of their B, each in the first free place.
  void place_weights(std::int64_t s) {
    const std::vector<Slot> passes = rows_[static_cast<std::size_t>(s)];
    std::int64_t free = 0;
    for (std::size_t t = 0; t < passes.size(); ++t) {
      if (passes[t] == kFree || passes[t] % kKinds < kB1) continue;
      free = std::max(free, static_cast<std::int64_t>(t) + 1);
      while (at(s, free) != kFree) ++free;
      put(s, passes[t] + (kW1 - kB1), free);
    }
  }
  /// Chunks that the stage holds behind each time: from F to W.
  std::vector<std::int64_t> held(std::int64_t s) const {
    std::vector<std::int64_t> out;
    std::int64_t now = 0;
    for (const Slot slot : rows_[static_cast<std::size_t>(s)]) {
      // W gives back behind it.
      const bool takes = slot != kFree && slot % kKinds <= kF1;
      out.push_back(now += takes ? 1 : 0);
      if (slot != kFree && slot % kKinds >= kW1) --now;
    }
    return out;
  }
  /// The first time at which what the pass needs is there.
  std::int64_t ready(std::int64_t s, Slot slot) {
    const bool last = s == p_ - 1;
    std::int64_t out = slot >= kKinds ? time_of(s, slot - kKinds) + 1 : 0;  // microbatch by one
    const auto behind = [&](std::int64_t stage, Slot other) {
      out = std::max(out, time_of(stage, other) + 1);
    };
    switch (slot % kKinds) {
      case kF0:
        if (s > 0) behind(s - 1, slot);
        break;
      case kB1: s > 0 ? behind(s - 1, slot) : behind(s, slot - 1); break;
      case kF1:
      case kB0: last ? behind(s, slot - 1) : behind(s + 1, slot); break;
      default: behind(s, slot - (kW1 - kB1));
    }
    return out;
  }
  void move_ahead(std::int64_t s, Slot slot, std::int64_t from) {
    std::vector<std::int64_t>& held = held_[static_cast<std::size_t>(s)];
    const bool forward = slot % kKinds <= kF1, weights = slot % kKinds >= kW1;
    std::int64_t to = ready(s, slot);
    if (forward) {  // no earlier than there is room from then on
      for (std::int64_t t = from; t-- > to;) {
        if (held[static_cast<std::size_t>(t)] >= most_) to = t + 1;
      }
    }
    while (to < from && at(s, to) != kFree) ++to;
    if (to >= from) return;
    at(s, from) = kFree;
    put(s, slot, to);
    // F holds from its own time on, W until behind it.
    const std::int64_t shift = weights ? 1 : 0;
    for (std::int64_t t = to + shift; t < from + shift; ++t) {
      held[static_cast<std::size_t>(t)] += forward ? 1 : weights ? -1 : 0;
    }
  }

  std::int64_t p_, m_, most_ = 0;
  std::vector<std::vector<Slot>> rows_;           // by time
  std::vector<std::vector<std::int64_t>> times_;  // by slot
  std::vector<std::vector<std::int64_t>> held_;   // by time
};

}  // namespace

std::vector<std::vector<Task>> building_blocks(Schedule kind, std::int64_t stages,
                                               std::int64_t microbatches) {
  Timetable timetable(kind, stages, microbatches);
  timetable.move_ahead();
  std::vector<std::vector<Task>> out;
  for (std::int64_t s = 0; s < stages; ++s) out.push_back(timetable.tasks(s));
  return out;
}

}  // namespace plait
