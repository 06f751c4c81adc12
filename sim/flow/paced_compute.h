#pragma once
// The compute stream's kernel on a GPU some of whose SMs are held by collectives: it proceeds at
// the pace of those that are left. What begins and ends at one time counts together: `settle` works
// out the pace once, when all of it is known.

#include <algorithm>
#include <cstdint>

#include "core/time.h"

namespace plait {

class PacedCompute {
 public:
  /// `sms` of the device; 0: nothing slows it down.
  explicit PacedCompute(int sms) : sms_(sms) {}

  /// A kernel that takes `duration` with all SMs.
  void start(SimTime now, SimTime duration) {
    running_ = true;
    end_ = counted_sum(now, duration);
    pace_ = kFresh;
  }
  /// Collectives take so many SMs more, or fewer.
  void hold(int sms) { held_ += sms; }
  /// True if the kernel ends at another time than before, from now on at the pace of the SMs that
  /// are free.
  bool settle(SimTime now) {
    const int free = sms_ == 0 ? 0 : std::max(1, sms_ - held_);
    if (!running_ || free == pace_) return false;
    const int before = pace_ == kFresh ? sms_ : pace_;
    if (free != before) end_ = counted_sum(now, scaled_up(end_ - now, before, free));
    pace_ = free;
    ++version_;
    return true;
  }
  void stop() { running_ = false; }
  SimTime end() const { return end_; }
  /// Counts the ends that `settle` has given.
  std::uint32_t version() const { return version_; }

 private:
  static constexpr int kFresh = -1;
  int sms_, held_ = 0;
  int pace_ = kFresh;  // SMs that `end_` reckons with; a kernel that has just begun: all
  bool running_ = false;
  SimTime end_ = 0;
  std::uint32_t version_ = 0;
};

}  // namespace plait
