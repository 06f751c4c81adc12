#pragma once
// How far a long command is, on standard error: on a terminal one line that is written over,
// elsewhere one line for each tenth.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace plait {

class Progress {
 public:
  /// Says nothing about what is done within `patience`.
  explicit Progress(std::chrono::milliseconds patience = {})
      : speaks_(std::chrono::steady_clock::now() + patience) {}

  void operator()(std::size_t done, std::size_t all, const std::string& next) {
    if (std::chrono::steady_clock::now() < speaks_) return;
    const std::string text = fmt::format("{:>5} of {}  {}", done, all, next);
    if (terminal_) {
      std::fprintf(stderr, "\r%-*s", static_cast<int>(width_), text.c_str());
      width_ = std::max(width_, text.size());
      shown_ = true;
    } else if (done * 10 / all != tenth_) {
      tenth_ = done * 10 / all;
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }
  void finish() const {
    if (shown_) std::fprintf(stderr, "\r%-*s\r", static_cast<int>(width_), "");
  }

 private:
  std::chrono::steady_clock::time_point speaks_;
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::size_t width_ = 60;  // of the longest line, which is written over
  std::size_t tenth_ = 0;
};

}  // namespace plait
