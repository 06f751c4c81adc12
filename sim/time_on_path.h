#pragma once
// What the time of a chain of ops is spent on: for which kernels and waits, and on what hardware.

#include <cstdint>
#include <vector>

#include "sim/recorded_step.h"

namespace plait {

class TimeOnPath {
 public:
  explicit TimeOnPath(const RecordedStep& step) : step_(step) {}

  /// The op runs, or its rank's host is busy, or what the rank waits for is not recorded.
  void add(PlaceInTrack op, SimTime time) { parts_.push_back({op, time}); }
  void add_host(SimTime time) { parts_.push_back({kHost, time}); }
  void add_wait(SimTime time) { parts_.push_back({kWait, time}); }

  /// How many of these calls there were.
  std::size_t parts() const { return parts_.size(); }
  /// What they added from the `first` on, so many times more.
  void repeat_from(std::size_t first, std::int64_t times);

  /// Of all time, the longest first.
  std::vector<Share> shares() const;
  std::vector<Sensitivity> sensitivity() const;

 private:
  static constexpr PlaceInTrack kHost = {0}, kWait = {1};  // which are of no op
  struct Part {
    PlaceInTrack op;
    SimTime time = 0;
    std::int64_t times = 1;
    bool of_op() const { return op.flat != kNoCause; }
    SimTime whole() const { return times * time; }
  };
  std::vector<SimTime> by_op() const;             // [track][op id]
  SimTime total(const PlaceInTrack& kind) const;  // kHost or kWait

  const RecordedStep& step_;
  std::vector<Part> parts_;
};

}  // namespace plait
