#pragma once
// Threads that share the cores of one machine (processor sharing). Given C cores and k threads that
// have work, each proceeds at rate min(1, C / k). All proceed alike, so one clock of received
// service is enough: V' = min(1, C / k), and a thread that starts at V with work w ends at V + w.
// While no core is short V advances as time does, and ends are exact to the picosecond; else they
// are rounded up.

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "core/time.h"

namespace plait {

inline constexpr SimTime kNever = std::numeric_limits<SimTime>::max();

class Cores {
 public:
  /// `cores` need not be whole: 1.5 is one and a half cores' worth of time.
  explicit Cores(double cores) : cores_(cores) {}
  void start(SimTime now, std::uint32_t thread, SimTime work);
  /// When the first thread ends if nothing else starts; kNever without threads.
  SimTime next() const;
  /// Appends the threads that have ended by `now`, first to end first, then by number.
  void advance(SimTime now, std::vector<std::uint32_t>& ended);

 private:
  using End = std::pair<std::int64_t, std::uint32_t>;  // service at which it ends, thread
  bool plenty() const { return static_cast<double>(ends_.size()) <= cores_; }
  double rate() const { return cores_ / static_cast<double>(ends_.size()); }
  void serve_until(SimTime now);

  double cores_;
  SimTime now_ = 0;
  std::int64_t service_ = 0;  // V, in 1/256 ps
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace plait
