#include "plan/repeats.h"

#include <algorithm>
#include <limits>

namespace plait {
namespace {

/// Periods that are tried: that of interleaved 1F1B on 64 stages is the last.
constexpr int kMostCandidates = 64;

bool same_work(const Call& a, const Call& b) {
  return a.block == b.block && a.layer == b.layer && a.chunk == b.chunk;
}

class Finder {
 public:
  explicit Finder(const std::vector<Call>& calls) : calls_(calls) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto m = static_cast<std::size_t>(calls[i].microbatch);
      if (m >= begin_.size()) begin_.resize(m + 1, calls.size());
      begin_[m] = std::min(begin_[m], i);
    }
  }

  Repeats run() const {
    const std::size_t n = calls_.size();
    const auto from = std::find_if(calls_.begin() + static_cast<std::ptrdiff_t>(n / 2),
                                   calls_.end(), [](const Call& c) { return c.microbatch > 0; });
    const auto anchor = static_cast<std::size_t>(from - calls_.begin());
    int candidates = 0;
    for (std::size_t next = anchor + 1; 2 * next - anchor <= n; ++next) {
      if (!same_work(calls_[anchor], calls_[next])) continue;
      const Repeats found = period(anchor, next);
      if (found.telling > 0) return found;
      // Passes of one direction after another (GPipe): no larger period has both.
      const bool most_of_it = 4 * found.periods * found.calls > n;
      if (most_of_it || ++candidates == kMostCandidates) break;
    }
    return {};
  }

 private:
  bool repeated(std::size_t i, const Repeats& r) const {
    return is_repeat(calls_[i], calls_[i + r.calls], r.calls, r.microbatches);
  }
  /// Of call i of the repeats: belongs to a microbatch.
  bool moves(std::size_t i, const Repeats& r) const {
    const std::size_t other = i < r.first + r.calls ? i + r.calls : i - r.calls;
    return calls_[other].microbatch != calls_[i].microbatch;
  }
  /// The first call of the microbatch of call i.
  std::size_t begin_of(std::size_t i) const {
    return begin_[static_cast<std::size_t>(calls_[i].microbatch)];
  }

  /// The repeats around two calls that may be a period apart.
  Repeats period(std::size_t anchor, std::size_t next) const {
    Repeats r;
    r.calls = next - anchor, r.microbatches = calls_[next].microbatch - calls_[anchor].microbatch;
    if (r.microbatches <= 0) return {};
    for (std::size_t i = anchor; i < next; ++i) {
      if (!repeated(i, r)) return {};
    }
    std::size_t end = next;
    while (end + r.calls < calls_.size() && repeated(end, r)) ++end;
    r.first = anchor;
    while (r.first > 0 && repeated(r.first - 1, r)) --r.first;
    r.periods = (end + r.calls - r.first) / r.calls;
    if (holds_whole_microbatches(r)) r.telling = telling(r);
    return r;
  }

  /// Whether in the period in the middle as many begin as belong to a period, and end before the
  /// repeats do.
  bool holds_whole_microbatches(const Repeats& r) const {
    const std::size_t middle = r.first + (r.periods - 1) / 2 * r.calls;
    const auto begins_there = [&](std::size_t begin) {
      return begin >= middle && begin < middle + r.calls;
    };
    for (std::size_t i = r.first + r.periods * r.calls; i < calls_.size(); ++i) {
      if (begins_there(begin_of(i))) return false;
    }
    return std::ranges::count_if(begin_, begins_there) == r.microbatches;
  }
  std::size_t telling(const Repeats& r) const {
    return std::max({periods_until_ended(r, r.first) + 1, periods_until_ended(r, r.first + r.calls),
                     std::size_t{2}});
  }
  /// Periods of the repeats in which microbatches have calls that began before that one.
  std::size_t periods_until_ended(const Repeats& r, std::size_t call) const {
    std::size_t end = r.first + r.periods * r.calls;
    while (end > r.first && !(moves(end - 1, r) && begin_of(end - 1) < call)) --end;
    return (end - r.first + r.calls - 1) / r.calls;
  }

  const std::vector<Call>& calls_;
  std::vector<std::size_t> begin_;  // by microbatch: its first call
};

}  // namespace

bool is_repeat(const Call& call, const Call& later, std::size_t calls, std::int64_t microbatches) {
  const std::int64_t by = later.microbatch - call.microbatch;
  const bool waits_alike = call.after < 0
                               ? later.after < 0
                               : later.after - call.after == static_cast<std::int32_t>(calls);
  return same_work(call, later) && waits_alike && (by == microbatches || by == 0);
}

Repeats repeats_of(const std::vector<Call>& calls) { return Finder(calls).run(); }

bool is_extensible(const Repeats& r, std::int64_t microbatches) {
  return r.telling > 0 && r.periods >= r.telling && microbatches % r.microbatches == 0;
}

std::vector<Call> without(const std::vector<Call>& calls, const Repeats& r, std::size_t periods) {
  const std::size_t from = r.first + (r.periods - periods) * r.calls;
  const std::size_t out_calls = periods * r.calls;
  const auto earlier = static_cast<std::int32_t>(periods) * r.microbatches;
  const auto at = calls.begin() + static_cast<std::ptrdiff_t>(from);
  const auto behind = at + static_cast<std::ptrdiff_t>(out_calls);
  std::int32_t first_behind = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = from; i < from + r.calls; ++i) {
    const bool moves = calls[i].microbatch != calls[i - r.calls].microbatch;
    if (moves) first_behind = std::min(first_behind, calls[i].microbatch + earlier);
  }
  std::vector<Call> out(calls.begin(), at);
  out.reserve(calls.size() - out_calls);
  for (auto c = behind; c != calls.end(); ++c) {
    out.push_back(*c);
    if (c->microbatch >= first_behind) out.back().microbatch -= earlier;
    if (c->after >= static_cast<std::int32_t>(from)) {
      out.back().after -= static_cast<std::int32_t>(out_calls);
    }
  }
  return out;
}

}  // namespace plait
