#pragma once
// What messages between neighbouring stages take at least.

#include <cstdint>
#include <utility>
#include <vector>

#include "core/time.h"

namespace plait {

class StageMessages {
 public:
  /// `behind`: by stage, of one between it and the next; behind the last, between that and the
  /// first.
  explicit StageMessages(std::vector<SimTime> behind) : behind_(std::move(behind)) {
    up_to_.reserve(behind_.size());
    SimTime sum = 0;
    for (const SimTime t : behind_) up_to_.push_back(std::exchange(sum, sum + t));
  }
  StageMessages() = default;
  /// From a stage one step on, or one step back.
  SimTime of(std::int64_t stage, int step) const {
    const std::int64_t first = step > 0 ? stage : stage - 1;
    return behind_[static_cast<std::size_t>(first)];
  }
  /// Of one after the other from the first stage to this one.
  SimTime up_to(std::int64_t stage) const { return up_to_[static_cast<std::size_t>(stage)]; }

 private:
  std::vector<SimTime> behind_ = {0};
  std::vector<SimTime> up_to_ = {0};
};

}  // namespace plait
