#include "serving/sustained.h"

#include <algorithm>
#include <cmath>

#include "serving/objectives.h"

namespace plait {
namespace {

constexpr double kTold = 0.01;  // of a rate: what the answer is told apart by

/// Standing: what is unanswered does not grow, but is more than what is under way where none waits.
/// Behind: more stays unanswered than the draw explains.
enum class Verdict : std::uint8_t { kHeld, kStanding, kMissed, kBehind, kTooShort };

/// Of conversations, one request each by default.
struct Course {
  Seconds window;      // from the first to the last that begins
  Seconds wait;        // mean time to the first token of those who came first
  Seconds answered;    // mean time from its first token to its last
  Seconds generating;  // what of it requests run to generate, mean
};

SimTime begins_to_generate(const Service& s, std::size_t r) {
  const SimTime first = s.requests[r].first_token;
  return s.handovers.empty() ? first : std::max(first, s.handovers[r].resumed);
}

Course course_of(const std::vector<Request>& requests, const Service& service) {
  constexpr std::size_t kFirst = 10;  // who find the machine all but empty
  std::vector<std::size_t> root(requests.size());
  std::vector<SimTime> last(requests.size());  // token of the conversation, by its root
  Course out;
  double conversations = 0, waited = 0, generating = 0;  // seconds
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const Served& s = service.requests[r];
    const bool begins = requests[r].follows < 0;
    root[r] = begins ? r : root[static_cast<std::size_t>(requests[r].follows)];
    last[root[r]] = std::max(last[root[r]], s.finish);
    generating += to_seconds(s.finish - begins_to_generate(service, r)).value;
    if (r < kFirst) waited += to_seconds(s.first_token - s.arrival).value;
    if (!begins) continue;
    ++conversations;
    out.window = to_seconds(s.arrival - service.requests.front().arrival);
  }
  double answered = 0;  // seconds
  for (std::size_t r = 0; r < requests.size(); ++r) {
    if (root[r] == r) answered += to_seconds(last[r] - service.requests[r].first_token).value;
  }
  out.wait = Seconds(waited / static_cast<double>(std::min(kFirst, requests.size())));
  out.answered = Seconds(answered / conversations);
  out.generating = Seconds(generating / conversations);
  return out;
}

/// Whether requests are answered as they come, in the second half of the window. `under_way`: so
/// many are in the mean where none waits for others.
Verdict keeps_up(const Service& service, Seconds window, double under_way) {
  const SimTime begin = service.requests.front().arrival;
  const SimTime end = begin + to_sim_time(window), middle = begin + to_sim_time(window / 2);
  double came = 0, went = 0, left = 0;
  for (const Served& s : service.requests) {
    came += s.arrival > middle && s.arrival <= end ? 1 : 0;
    went += s.finish > middle && s.finish <= end ? 1 : 0;
    left += s.arrival <= end && s.finish > end ? 1 : 0;
  }
  // What came and not went is the difference of two counts under way, each Poisson's.
  const double chance = std::max(1.0, std::sqrt(2 * under_way));
  if (came - went > 3 * chance) return Verdict::kBehind;
  if (came - went > chance || chance > kTold * came) return Verdict::kTooShort;
  return left > under_way + 3 * std::sqrt(under_way) ? Verdict::kStanding : Verdict::kHeld;
}

bool attains(const std::vector<Request>& requests, const Service& service, const Slo& slo) {
  Attainment attainment;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    attainment.add(kept_by(latency_of(requests[r], service.requests[r]), slo));
  }
  return attainment.reaches(slo);
}

Verdict judged(const std::vector<Request>& requests, const Service& service, const Load& load,
               const Slo& slo, std::int64_t places) {
  if (!attains(requests, service, slo)) return Verdict::kMissed;
  const Course course = course_of(requests, service);
  const double generate = load.rate_per_s * course.generating.value;  // at a time
  if (generate > static_cast<double>(places) * (1 + kTold)) return Verdict::kMissed;
  const Seconds takes = course.wait + course.answered;
  if (course.window < takes * kWindows) return Verdict::kTooShort;
  return keeps_up(service, course.window, load.rate_per_s * takes.value);
}

}  // namespace

Sustained sustains(Load load, const Slo& slo, std::int64_t places,
                   const std::function<Service(const std::vector<Request>&, const Load&)>& serve) {
  const double answer = mean_answer(load) + 32;  // tokens, and as much as a request takes besides
  const std::int64_t most = std::min(
      kMostRequests, static_cast<std::int64_t>(static_cast<double>(kMostAnswered) / answer));
  for (Verdict before = Verdict::kTooShort;;) {
    const std::vector<Request> requests = draw_requests(load);
    const Verdict verdict = judged(requests, serve(requests, load), load, slo, places);
    // Arrivals come in bursts, which the next ones make up for: a machine that is too slow stays
    // behind, and a queue that chance left as long as it was grows.
    const bool last = load.count >= most, again = verdict == before || last;
    if (verdict == Verdict::kHeld || (verdict == Verdict::kStanding && again)) {
      return {.held = true, .count = load.count};
    }
    if (verdict == Verdict::kMissed || (verdict == Verdict::kBehind && again)) {
      return {.count = load.count};
    }
    if (last) return {.undecided = true, .count = load.count};
    before = verdict;
    load.count = std::min(2 * load.count, most);
  }
}

}  // namespace plait
