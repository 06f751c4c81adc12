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
  explicit Finder(const std::vector<Call>& calls) : calls_(calls) {}

  Repeats run() const {
    const std::size_t n = calls_.size();
    const auto from = std::find_if(calls_.begin() + static_cast<std::ptrdiff_t>(n / 2),
                                   calls_.end(), [](const Call& c) { return c.microbatch > 0; });
    const auto anchor = static_cast<std::size_t>(from - calls_.begin());
    int candidates = 0;
    for (std::size_t next = anchor + 1; 2 * next - anchor <= n; ++next) {
      if (!same_work(calls_[anchor], calls_[next])) continue;
      const Repeats found = period(anchor, next);
      if (found.in_flight > 0) return found;
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
  bool moves(std::size_t i, const Repeats& r) const {
    return calls_[i + r.calls].microbatch != calls_[i].microbatch;
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
    r.in_flight = in_flight(r);
    return r;
  }

  /// Of the microbatches of the period in the middle; 0 where these have calls elsewhere.
  std::size_t in_flight(const Repeats& r) const {
    const std::size_t middle = r.first + (r.periods - 1) / 2 * r.calls;
    std::int32_t least = std::numeric_limits<std::int32_t>::max(), most = -1;
    for (std::size_t i = middle; i < middle + r.calls; ++i) {
      if (!moves(i, r)) continue;
      least = std::min(least, calls_[i].microbatch), most = std::max(most, calls_[i].microbatch);
    }
    std::vector<std::size_t> first(static_cast<std::size_t>(most - least) + 1, calls_.size());
    std::vector<std::size_t> last(first.size(), 0);
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const std::int32_t m = calls_[i].microbatch;
      if (m < least || m > most) continue;
      const auto at = static_cast<std::size_t>(m - least);
      first[at] = std::min(first[at], i), last[at] = i;
    }
    std::size_t longest = 0;
    for (std::size_t m = 0; m < first.size(); ++m) {
      const bool outside = first[m] < r.first || last[m] >= r.first + r.periods * r.calls;
      if (outside) return 0;
      longest = std::max(longest, last[m] - first[m]);
    }
    return longest / r.calls + 2;
  }

  const std::vector<Call>& calls_;
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
