#pragma once
// A sum of times of several devices or replicas: exact, and longer than anything that a clock
// counts (core/time.h).

#include <compare>

#include "core/time.h"

namespace plait {

class TotalTime {
 public:
  TotalTime& operator+=(SimTime t) { return picoseconds_ += t, *this; }
  TotalTime& operator+=(TotalTime t) { return picoseconds_ += t.picoseconds_, *this; }
  auto operator<=>(const TotalTime&) const = default;
  friend Seconds to_seconds(TotalTime t) {
    return Seconds(static_cast<double>(t.picoseconds_) * 1e-12);
  }

 private:
  __extension__ using Picoseconds = __int128;
  Picoseconds picoseconds_ = 0;
};

}  // namespace plait
