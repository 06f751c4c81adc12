#pragma once
// Which collective slowed a kernel down (holdings.h).

#include <array>
#include <cstdint>
#include <vector>

#include "sim/recorded_step.h"

namespace plait {

/// `step` must outlive it.
class Slowed {
 public:
  explicit Slowed(const RecordedStep& step);

  /// For a kernel that took longer than alone, the collective that kept most multiprocessors times
  /// time of it; else kNoCause. Ties go to the one that was issued first.
  std::uint32_t by(std::size_t track, std::uint32_t flat) const;

 private:
  /// Multiprocessors times time that collective `flat` keeps from what runs in between.
  Seconds kept(std::size_t track, std::uint32_t flat, SimTime start, SimTime end) const;

  const RecordedStep& step_;
  /// By stage and stream: flat indices of the collectives that keep any.
  std::vector<std::array<std::vector<std::uint32_t>, kStreams>> holders_;
};

}  // namespace plait
