#include "cli/search_clock.h"

#include <fmt/format.h>

#include <string>

#include "reports/human.h"

namespace plait {
namespace {

/// A point of the front is looked for below another's memory.
std::string found_words(const SearchProgress& p) {
  const std::string best = fmt::format("{:.4g} s", to_seconds(p.best).value);
  if (p.memory_limit.value > 0) {
    return fmt::format("front, up to {}: {}", human_bytes(p.memory_limit.value),
                       p.best == 0 ? "none fits yet" : best);
  }
  return p.best == 0 ? "none fits yet" : "best " + best;
}

}  // namespace

double Pace::operator()(std::int64_t count) const {
  const double s = std::chrono::duration<double>(Clock::now() - begin_).count();
  return count > first_ ? static_cast<double>(count - first_) / s : 0;
}

void SearchClock::operator()(const SearchProgress& p) {
  p.layouts > 0 ? tell_bounds(p) : tell_simulations(p);
}

void SearchClock::tell_bounds(const SearchProgress& p) {
  if (p.bounded < bounded_ || bounded_ == 0) bounds_pace_.begin(p.bounded);
  bounded_ = p.bounded;
  std::string text = "layouts bounded";
  const double rate = bounds_pace_(p.bounded);
  if (rate > 0) text += fmt::format(", {}/s", human_rate(rate));
  progress_(static_cast<std::size_t>(p.bounded), static_cast<std::size_t>(p.layouts), text);
}

void SearchClock::tell_simulations(const SearchProgress& p) {
  const bool is_next = p.simulated < last_ || p.memory_limit != memory_limit_;
  if (is_next) pace_.begin(p.simulated);
  last_ = p.simulated, memory_limit_ = p.memory_limit;
  std::string text = found_words(p);
  if (const double rate = pace_(p.simulated); rate > 0) {
    text += fmt::format(", {:.0f} simulated/s, at most {} left", rate,
                        spoken_duration(static_cast<double>(p.left) / rate));
  }
  progress_.say(static_cast<std::size_t>(p.simulated),
                static_cast<std::size_t>(p.simulated + p.left), text);
}

}  // namespace plait
