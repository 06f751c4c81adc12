#include "serving/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "serving/draws.h"

namespace plait {
namespace {

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

/// Prefixes of one kind: their texts' numbers and, for each, the probability of it or one before.
struct Prefixes {
  std::int64_t first_text = 0;
  std::vector<double> up_to;
  std::int64_t text_at(double u) const {
    const auto it = std::ranges::upper_bound(up_to, u * up_to.back());
    return first_text + std::min<std::int64_t>(it - up_to.begin(), std::ssize(up_to) - 1);
  }
};

std::vector<Prefixes> prefixes_of(const std::vector<RequestKind>& kinds) {
  std::vector<Prefixes> out;
  std::int64_t texts = 0;
  for (const RequestKind& k : kinds) {
    Prefixes p{texts, {}};
    double sum = 0;
    for (std::int64_t n = 1; n <= k.prefixes; ++n) {
      p.up_to.push_back(sum += std::pow(static_cast<double>(n), -k.zipf));
    }
    texts += k.prefixes;
    out.push_back(std::move(p));
  }
  return out;
}

/// Draws requests; the n-th has the n-th numbers of each stream.
class Drawing {
 public:
  explicit Drawing(const Load& load)
      : load_(load),
        kinds_(kinds_of(load)),
        prefixes_(prefixes_of(kinds_)),
        seed_(static_cast<std::uint64_t>(load.seed)) {}

  std::vector<Request> requests() {
    while (std::ssize(out_) < load_.count) add_conversation();
    return std::move(out_);
  }

 private:
  double drawn(DrawStream stream) const { return uniform(seed_, stream, out_.size()); }
  void add_conversation() {
    Request r;
    // Gaps of a Poisson process are exponential: -ln(u) / rate.
    if (load_.arrivals == Arrivals::kPoisson) {
      now_ -= std::log(drawn(kArrival)) / load_.rate_per_s;
      r.arrival = to_sim_time(Seconds(now_));
    }
    r.kind = kind_at(kinds_, drawn(kKind));
    const RequestKind& kind = kinds_[r.kind];
    if (kind.prefix_tokens > 0) {
      r.shared.push_back({kind.prefix_tokens, prefixes_[r.kind].text_at(drawn(kPrefix))});
    }
    const std::int64_t conversation = prefixes_.back().first_text + kinds_.back().prefixes +
                                      static_cast<std::int64_t>(out_.size());
    if (kind.turns > 1) r.shared.push_back({0, conversation});
    r.output = kind.prefix_tokens;  // that came before
    for (std::int64_t t = 0; t < kind.turns && std::ssize(out_) < load_.count; ++t) {
      add_turn(r, kind);
      r.follows = std::ssize(out_) - 1, r.pause = to_sim_time(kind.think_time);
    }
  }
  /// `r` is the turn before, or has the prefix for its answer.
  void add_turn(Request& r, const RequestKind& kind) {
    r.prompt += r.output + length(kind.prompt_tokens, kind.spread, drawn(kPrompt));
    r.output = length(kind.output_tokens, kind.spread, drawn(kOutput));
    if (kind.turns > 1) r.shared.back().until = r.prompt + r.output;
    out_.push_back(r);
  }

  const Load& load_;
  std::vector<RequestKind> kinds_;
  std::vector<Prefixes> prefixes_;
  std::uint64_t seed_;
  double now_ = 0;  // seconds
  std::vector<Request> out_;
};

/// A request takes as much as 32 tokens of an answer: what was asked, and what came of it.
void require_memory(double requests, double tokens) {
  constexpr double kRequest = 32;
  const double held = tokens + kRequest * requests, most = static_cast<double>(kMostAnswered);
  if (held <= most) return;
  throw InputError({"R005",
                    fmt::format("{:.0f} requests with answers of {:.0f} tokens in all are more "
                                "than are held in memory",
                                requests, tokens),
                    {"", 0, 0, "serving.requests"},
                    fmt::format("at most {:.0f} such requests", requests * most / held),
                    "lower serving.requests.count, or cut the trace"});
}

}  // namespace

std::vector<RequestKind> kinds_of(const Load& load) {
  return load.kinds.empty() ? std::vector<RequestKind>{RequestKind{}} : load.kinds;
}

double mean_answer(const Load& load) {
  double tokens = 0, requests = 0;
  for (const RequestKind& k : kinds_of(load)) {
    const double share = k.share * static_cast<double>(k.turns);
    tokens += share * static_cast<double>(k.output_tokens), requests += share;
  }
  return tokens / requests;
}

void require_memory(const Load& load) {
  require_memory(static_cast<double>(load.count),
                 static_cast<double>(load.count) * mean_answer(load));
}

void require_memory(const std::vector<Request>& requests) {
  double tokens = 0;
  for (const Request& r : requests) tokens += static_cast<double>(r.output);
  require_memory(static_cast<double>(requests.size()), tokens);
}

std::vector<Request> draw_requests(const Load& load) { return Drawing(load).requests(); }

}  // namespace plait
