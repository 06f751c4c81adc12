#pragma once
// The devices of a group: first + i * stride of one run + j * stride of the next ..., 0 <= i, j,
// ... < size, in the order of their ranks, the first run fastest.

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>

namespace plait {

class Lattice {
 public:
  struct Run {
    std::int64_t size = 1, stride = 0;
    auto operator<=>(const Run&) const = default;
  };
  static constexpr std::size_t kMostRuns = 3;

  /// At most kMostRuns of more than one device. A run that goes on where the one before it ends is
  /// part of it.
  constexpr Lattice(std::initializer_list<Run> runs) {
    for (const Run& run : runs) {
      if (run.size == 1) continue;
      Run& last = runs_[count_ == 0 ? 0 : count_ - 1];
      if (count_ > 0 && last.size * last.stride == run.stride) {
        last.size *= run.size;
      } else {
        runs_[count_++] = run;
      }
    }
  }

  const Run* begin() const { return runs_.data(); }
  const Run* end() const { return runs_.data() + count_; }
  std::int64_t size() const {
    std::int64_t out = 1;
    for (const Run& run : *this) out *= run.size;
    return out;
  }
  /// From the first of its devices to the last.
  std::int64_t reach() const {
    std::int64_t out = 0;
    for (const Run& run : *this) out += (run.size - 1) * run.stride;
    return out;
  }
  /// Of the lattices of this shape that all devices fall into, where the first one begins that does
  /// so at `device` or behind it.
  std::int64_t next_beginning(std::int64_t device) const {
    for (const Run* run = begin(); run != end();) {
      const bool begins = device / run->stride % run->size == 0;
      if (!begins) device = (device / (run->stride * run->size) + 1) * (run->stride * run->size);
      run = begins ? run + 1 : begin();
    }
    return device;
  }
  auto operator<=>(const Lattice&) const = default;

 private:
  std::array<Run, kMostRuns> runs_ = {};
  std::size_t count_ = 0;
};

}  // namespace plait
