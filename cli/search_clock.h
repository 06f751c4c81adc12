#pragma once
// How far a search is, on standard error: on a terminal from the first second on.

#include <chrono>
#include <cstdint>

#include "cli/progress.h"
#include "search/search.h"

namespace plait {

/// How many a second, since it was last told that counting begins.
class Pace {
 public:
  void begin(std::int64_t count) { begin_ = Clock::now(), first_ = count; }
  /// 0: not known yet.
  double operator()(std::int64_t count) const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  std::int64_t first_ = 0;
};

class SearchClock {
 public:
  void operator()(const SearchProgress& p);
  void finish() { progress_.finish(); }

 private:
  void tell_bounds(const SearchProgress& p);
  void tell_simulations(const SearchProgress& p);

  Pace pace_, bounds_pace_;
  std::int64_t last_ = 0, bounded_ = 0;  // counts of the search that runs
  Bytes memory_limit_;                   // of that
  ProgressLine progress_{"enumerating layouts"};
};

}  // namespace plait
