#include "serving/requests.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace plait {
namespace {

/// The n-th uniform number in (0, 1) of a stream.
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t n) {
  const std::uint64_t bits = scramble(scramble(scramble(seed) + stream) + n);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

enum DrawStream : std::uint64_t { kArrival, kKind, kPrompt, kOutput };

std::size_t kind_at(const std::vector<RequestKind>& kinds, double u) {
  double sum = 0;
  for (const RequestKind& k : kinds) sum += k.share;
  double below = 0;
  for (std::size_t i = 0; i + 1 < kinds.size(); ++i) {
    below += kinds[i].share / sum;
    if (u < below) return i;
  }
  return kinds.size() - 1;
}

std::int64_t length(std::int64_t mean, double spread, double u) {
  const double drawn = static_cast<double>(mean) * (1 + spread * (2 * u - 1));
  return std::max<std::int64_t>(1, std::llround(drawn));
}

}  // namespace

std::vector<RequestKind> kinds_of(const Load& load) {
  return load.kinds.empty() ? std::vector<RequestKind>{RequestKind{}} : load.kinds;
}

std::vector<Request> draw_requests(const Load& load) {
  const std::vector<RequestKind> kinds = kinds_of(load);
  const auto seed = static_cast<std::uint64_t>(load.seed);
  std::vector<Request> out;
  double now = 0;  // seconds
  for (std::int64_t i = 0; i < load.count; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    Request r;
    // Gaps of a Poisson process are exponential: -ln(u) / rate.
    if (load.arrivals == Arrivals::kPoisson) {
      now -= std::log(uniform(seed, kArrival, n)) / load.rate_per_s;
      r.arrival = to_sim_time(Seconds(now));
    }
    r.kind = kind_at(kinds, uniform(seed, kKind, n));
    const RequestKind& kind = kinds[r.kind];
    r.prompt = length(kind.prompt_tokens, kind.spread, uniform(seed, kPrompt, n));
    r.output = length(kind.output_tokens, kind.spread, uniform(seed, kOutput, n));
    out.push_back(r);
  }
  return out;
}

}  // namespace plait
