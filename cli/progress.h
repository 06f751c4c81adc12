#pragma once
// How far a long command is, on standard error, and how long it will yet take: on a terminal one
// line that is written over and erased at the end, elsewhere one line for each tenth, ten seconds
// apart at least.
// Commands that are done within the patience say nothing.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "core/watch.h"

namespace plait {

/// "1.5 s", "42 s", "3 min 20 s", "2 h 05 min".
std::string spoken_duration(double seconds);

class ProgressLine {
 public:
  /// `what` is being done, without saying how far it is: "simulating, 12 s". Elsewhere than on a
  /// terminal nothing is said until there is something to count.
  explicit ProgressLine(std::string what = "",
                        std::chrono::milliseconds patience = std::chrono::seconds(1));
  /// Erases the line.
  ~ProgressLine() { finish(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// "  12 of  240  points, 35 s left": at the pace since the first call.
  void operator()(std::size_t done, std::size_t all, const std::string& next);
  /// The same where the caller knows better how much is left.
  void say(std::size_t done, std::size_t all, const std::string& text);
  /// Counts what long work tells of; the line has to outlive it.
  Watch watch(std::string what);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void tick();
  void show();  // mutex_ is held
  std::string left(std::size_t done, std::size_t all) const;

  Clock::time_point begin_ = Clock::now(), speaks_, counts_since_;
  bool terminal_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::string what_, line_;  // what is done; the last line that was asked for
  std::size_t shown_ = 0;    // columns of what stands on the terminal
  bool counts_ = false;
  std::size_t first_ = 0, last_ = 0, tenth_ = 0;
  std::thread ticker_;  // on a terminal
};

}  // namespace plait
