#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/work_in_hand.h"
#include "reports/terminal.h"

namespace plait {
namespace {

constexpr std::size_t kUsualColumns = 80;
constexpr std::chrono::milliseconds kRefresh{500};
/// Between lines elsewhere than on a terminal.
constexpr std::chrono::seconds kApart{10};

/// A line as wide as the window would wrap, and could not be written over.
std::size_t usable_columns() {
  winsize window = {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  return (known ? window.ws_col : kUsualColumns) - 1;
}

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

std::string spoken_duration(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const long long whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

ProgressLine::ProgressLine(std::string what, std::chrono::milliseconds patience)
    : speaks_(begin_ + patience), terminal_(::isatty(STDERR_FILENO) == 1), what_(std::move(what)) {
  take_in_hand(what_);
  if (terminal_) ticker_ = std::thread([this] { tick(); });
}

void ProgressLine::finish() {
  take_in_hand("");
  if (!ticker_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_one();
  ticker_.join();
  if (shown_ == 0) return;
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(shown_), "");
  std::fflush(stderr);
}

void ProgressLine::tick() {
  std::unique_lock lock(mutex_);
  for (auto next = speaks_; !wake_.wait_until(lock, next, [this] { return over_; });
       next += kRefresh) {
    show();
  }
}

void ProgressLine::show() {
  std::string text = line_;
  if (text.empty() && !what_.empty()) {
    text = fmt::format("{}, {:.0f} s", what_, seconds_since(begin_));
  }
  if (text.empty()) return;
  if (const std::size_t most = usable_columns(); text.size() > most) text.resize(most);
  const auto columns = static_cast<std::size_t>(display_width(text));
  const std::size_t blanks = shown_ > columns ? shown_ - columns : 0;
  std::fprintf(stderr, "\r%s%*s", text.c_str(), static_cast<int>(blanks), "");
  std::fflush(stderr);
  shown_ = std::max(shown_, columns);
}

std::string ProgressLine::left(std::size_t done, std::size_t all) const {
  if (!counts_ || done <= first_ || done >= all) return "";
  const double each = seconds_since(counts_since_) / static_cast<double>(done - first_);
  return fmt::format(", {} left", spoken_duration(each * static_cast<double>(all - done)));
}

void ProgressLine::operator()(std::size_t done, std::size_t all, const std::string& next) {
  std::string text = next;
  {
    const std::lock_guard lock(mutex_);
    const bool begins = !counts_ || done < last_;  // something else is counted now
    if (begins) counts_ = true, first_ = done, tenth_ = 0, counts_since_ = Clock::now();
    last_ = done;
    text += left(done, all);
  }
  say(done, all, text);
}

Watch ProgressLine::watch(std::string what) {
  return [this, what = std::move(what)](std::int64_t done, std::int64_t all) {
    (*this)(static_cast<std::size_t>(done), static_cast<std::size_t>(all), what);
  };
}

void ProgressLine::say(std::size_t done, std::size_t all, const std::string& text) {
  const std::lock_guard lock(mutex_);
  line_ = fmt::format("{:>5} of {}  {}", done, all, text);
  take_in_hand(fmt::format("{}{}{} of {} {}", what_, what_.empty() ? "" : ", ", done, all, text));
  if (terminal_ || Clock::now() < speaks_ || all == 0 || done * 10 / all == tenth_) return;
  tenth_ = done * 10 / all;
  speaks_ = Clock::now() + kApart;
  std::fprintf(stderr, "%s\n", line_.c_str());
}

}  // namespace plait
