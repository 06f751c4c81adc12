#pragma once
// Whether an engine holds a rate for as long as it lasts. A short load cannot tell: its last
// request comes before the first is answered, and all find a machine that is still filling up. So
// the load is drawn with twice as many requests until it is long enough, or one of these says no:
//   too many requests miss a limit (more of them would not miss less),
//   rate * (mean time from first token to last) > places    (Little 1961: so many would generate),
//   what is unanswered grows from the middle of the arrivals to their end by more than chance
//   explains, in two loads of which the second is twice the first: a burst at the end of one is in
//   the middle of the other.
// Chance: of n = rate takes that are under way, takes being what a conversation takes from the wait
// of those who came first to its last token, the difference of two counts has the standard
// deviation sqrt(2 n); three are more than it explains.
// Long enough: arrivals last kWindows times what a conversation takes; one such deviation is at
// most 1 % of what came in the second half, and what is unanswered has grown by no more. Where more
// of it stands than n explains, that is to be so again with twice as many requests.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/total_time.h"
#include "serving/serve.h"

namespace plait {

/// The first of these windows is the ramp, and the last half is judged: two and a half are left of
/// it, in which what came in the first half is gone.
inline constexpr double kWindows = 5;
/// Requests of one load at most, about 20 s of work for a machine of one replica.
inline constexpr std::int64_t kMostRequests = 100'000;

struct Sustained {
  bool held = false;
  bool undecided = false;  // no: kMostRequests do not last long enough
  std::int64_t count = 0;  // requests that the answer is of
};

/// `load` has its rate, of Poisson arrivals, and at least so many requests. `places`: sequences
/// that run at a time, on all replicas.
Sustained sustains(Load load, const Slo& slo, std::int64_t places,
                   const std::function<Service(const std::vector<Request>&, const Load&)>& serve);

}  // namespace plait
