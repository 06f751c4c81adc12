#include "serving/serve.h"

#include <algorithm>
#include <queue>
#include <string>

#include "core/error.h"

namespace plait {
namespace {

struct Event {
  SimTime time;
  bool is_arrival;     // before steps that end at the same time
  std::size_t number;  // of the request, or of the replica
  bool operator>(const Event& o) const {
    if (time != o.time) return time > o.time;
    if (is_arrival != o.is_arrival) return o.is_arrival;
    return number > o.number;
  }
};

/// One replica: its scheduler, its host and its pipeline.
struct Replica {
  Engine engine;
  std::deque<Batch> in_flight;  // oldest first
  SimTime host = 0;             // free from then on
  std::vector<SimTime> stage;   // the same
};

class Server {
 public:
  Server(const std::vector<Request>& requests, const Load& load, const ServerOptions& options,
         const StepPrice& price)
      : requests_(requests), load_(load), options_(options), price_(price) {
    out_.requests.resize(requests.size());
    last_token_.resize(requests.size());
    for (std::int64_t i = 0; i < options.replicas; ++i) {
      replicas_.push_back(
          {Engine(options.limits, options.blocks, requests, options.kept, options.guesses),
           {},
           0,
           {}});
    }
    next_turn_.resize(requests.size(), kNone);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      require_room(i);
      const std::int64_t before = requests[i].follows;
      if (before < 0) {
        first_turns_.push_back(i);
      } else {
        next_turn_[static_cast<std::size_t>(before)] = i;
      }
    }
  }

  Service run() {
    arrive_at_start();
    while (!events_.empty()) {
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event e = events_.top();
        events_.pop();
        e.is_arrival ? arrive(e.number) : finish_step(e.number);
      }
      for (std::size_t i = 0; i < replicas_.size(); ++i) pump(i);
    }
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      Served& s = out_.requests[i];
      PLAIT_CHECK(s.finish > 0, "a request that was not answered");
      const Engine& engine = replicas_[static_cast<std::size_t>(s.replica)].engine;
      s.preemptions = engine.preemptions(i), s.found = engine.found(i);
    }
    for (const Replica& replica : replicas_) out_.guessed += replica.engine.guessed();
    return std::move(out_);
  }

 private:
  void require_room(std::size_t i) const {
    const Request& r = requests_[i];
    if (r.prompt > 0 && r.output > 0 && replicas_[0].engine.fits(r)) return;
    throw InputError(
        {"R002",
         "request " + std::to_string(i) + " of " + std::to_string(r.prompt) + " prompt and " +
             std::to_string(r.output) + " output tokens never fits into the cache of a replica",
         {"", 0, 0, "serving"},
         "at least 1 token each, and together at most " +
             std::to_string(options_.kept.most_tokens(options_.blocks, options_.limits.max_tokens,
                                                      options_.limits.block_size)),
         "shorten the requests, or use more devices or narrower weights"});
  }
  void arrive_at_start() {
    const bool closed = load_.arrivals == Arrivals::kClosed;
    next_ = closed ? std::min(first_turns_.size(), static_cast<std::size_t>(load_.concurrency))
                   : first_turns_.size();
    for (std::size_t i = 0; i < next_; ++i) {
      const SimTime first = static_cast<SimTime>(i) * to_sim_time(load_.ramp);
      const std::size_t r = first_turns_[i];
      events_.push({closed ? first : requests_[r].arrival, true, r});
    }
    if (!requests_.empty()) start_ = events_.top().time;
  }
  void arrive(std::size_t r) {
    const auto least = std::ranges::min_element(
        replicas_, {}, [](const Replica& x) { return x.engine.outstanding(); });
    out_.requests[r].arrival = now_;
    out_.requests[r].replica = least - replicas_.begin();
    least->engine.admit(r);
  }
  void finish_step(std::size_t i) {
    Replica& replica = replicas_[i];
    const Progress done = replica.engine.complete(replica.in_flight.front());
    replica.in_flight.pop_front();
    for (const std::size_t r : done.sampled) {
      Served& s = out_.requests[r];
      s.first_token == 0 ? void(s.first_token = now_) : out_.gaps.push_back(now_ - last_token_[r]);
      last_token_[r] = now_;
    }
    for (const std::size_t r : done.finished) {
      out_.requests[r].finish = now_;
      const std::size_t turn = next_turn_[r];
      if (turn != kNone) {
        events_.push({now_ + requests_[turn].pause, true, turn});
      } else if (next_ < first_turns_.size()) {
        events_.push({now_, true, first_turns_[next_++]});
      }
    }
    if (!done.finished.empty()) out_.makespan = now_ - start_;
  }
  void pump(std::size_t i) {
    Replica& replica = replicas_[i];
    while (static_cast<std::int64_t>(replica.in_flight.size()) < options_.batches_in_flight) {
      Batch batch = replica.engine.schedule();
      if (batch.empty()) return;
      const auto sequences = static_cast<std::int64_t>(batch.sequences.size());
      out_.most_blocks = std::max(out_.most_blocks, options_.blocks - replica.engine.free_blocks());
      out_.most_sequences = std::max(out_.most_sequences, sequences);
      events_.push({launch(replica, batch.step, sequences), false, i});
      replica.in_flight.push_back(std::move(batch));
    }
  }
  /// When the batch has passed the last stage.
  SimTime launch(Replica& replica, const Step& step, std::int64_t sequences) {
    const StepTime& time = price_(step);
    const SimTime overhead = to_sim_time(options_.limits.step_overhead) +
                             sequences * to_sim_time(options_.limits.sequence_overhead);
    replica.stage.resize(time.stage.size());
    const bool goes_on = options_.limits.async_scheduling && replica.stage[0] == now_;
    replica.host =
        goes_on ? std::max(replica.host + overhead, now_) : std::max(replica.host, now_) + overhead;
    out_.busy.resize(time.stage.size());
    SimTime at = replica.host;
    for (std::size_t s = 0; s < time.stage.size(); ++s) {
      at = std::max(at, replica.stage[s]) + time.stage[s];
      replica.stage[s] = at;
      out_.busy[s] += time.stage[s];
      if (s < time.hop.size()) at += time.hop[s];
    }
    account(step, time, sequences, overhead);
    return at;
  }
  void account(const Step& step, const StepTime& time, std::int64_t sequences, SimTime overhead) {
    StepTotals& t = step.prefill.sequences == 0 ? out_.decode : out_.prefill;
    ++t.steps;
    t.tokens += step.tokens(), t.sequences += sequences;
    t.time += time.total(), t.host += overhead;
    for (std::size_t p = 0; p < kStepParts; ++p) t.parts[p] += time.parts[p];
  }

  const std::vector<Request>& requests_;
  const Load& load_;
  const ServerOptions& options_;
  const StepPrice& price_;
  std::vector<Replica> replicas_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<SimTime> last_token_;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> first_turns_, next_turn_;  // requests; of each the one that follows
  std::size_t next_ = 0;  // of the first turns: what the next free user begins with
  SimTime now_ = 0, start_ = 0;
  Service out_;
};

}  // namespace

SimTime StepTime::total() const {
  SimTime sum = 0;
  for (const SimTime t : stage) sum += t;
  for (const SimTime t : hop) sum += t;
  return sum;
}

Service serve(const std::vector<Request>& requests, const Load& load, const ServerOptions& options,
              const StepPrice& price) {
  return Server(requests, load, options, price).run();
}

}  // namespace plait
