#include "serving/serve.h"

#include <algorithm>
#include <queue>
#include <string>

#include "core/error.h"
#include "serving/kv_transfer.h"
#include "serving/pool.h"

namespace plait {
namespace {

/// In the order of things that happen at the same time.
enum class Happens : std::uint8_t { kArrives, kReceives, kStepEnds };

struct Event {
  SimTime time;
  Happens what;
  std::size_t number;  // of the request, or of the replica: those of prefill, then the others
  bool operator>(const Event& o) const {
    if (time != o.time) return time > o.time;
    if (what != o.what) return what > o.what;
    return number > o.number;
  }
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Requests as a pool of prefill sees them: over with the first token.
std::vector<Request> prompts_of(std::vector<Request> requests) {
  for (Request& r : requests) r.output = 1;
  return requests;
}

/// Who asks when: arrivals, turns of conversations, and users who ask anew when answered.
class Arriving {
 public:
  Arriving(const std::vector<Request>& requests, const Load& load)
      : requests_(requests), load_(load), next_turn_(requests.size(), kNone) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::int64_t before = requests[i].follows;
      if (before < 0) {
        first_turns_.push_back(i);
      } else {
        next_turn_[static_cast<std::size_t>(before)] = i;
      }
    }
  }
  /// `at(request, time)`: of those that are known from the start.
  template <class F>
  void start(F&& at) {
    const bool closed = load_.arrivals == Arrivals::kClosed;
    next_ = closed ? std::min(first_turns_.size(), static_cast<std::size_t>(load_.concurrency))
                   : first_turns_.size();
    for (std::size_t i = 0; i < next_; ++i) {
      const SimTime first = counted_product(static_cast<std::int64_t>(i), to_sim_time(load_.ramp));
      const std::size_t r = first_turns_[i];
      at(r, closed ? first : requests_[r].arrival);
    }
  }
  /// r was answered.
  template <class F>
  void answered(std::size_t r, SimTime now, F&& at) {
    const std::size_t turn = next_turn_[r];
    if (turn != kNone) {
      at(turn, counted_sum(now, requests_[turn].pause));
    } else if (next_ < first_turns_.size()) {
      at(first_turns_[next_++], now);
    }
  }

 private:
  const std::vector<Request>& requests_;
  const Load& load_;
  std::vector<std::size_t> first_turns_, next_turn_;  // requests; of each the one that follows
  std::size_t next_ = 0;  // of the first turns: what the next free user begins with
};

class Server {
 public:
  /// Without `handing` there is one pool, of `generating`.
  Server(const std::vector<Request>& requests, const Load& load, const ServerOptions& generating,
         const StepPrice& price, const DisaggregatedServer* handing)
      : requests_(requests),
        arriving_(requests, load),
        handing_(handing),
        generating_(requests, generating, price),
        last_token_(requests.size()) {
    out_.requests.resize(requests.size());
    if (handing != nullptr) {
      prompts_ = prompts_of(requests);
      prefill_.emplace(prompts_, handing->prefill, handing->prefill_price);
      ports_.emplace(handing->routes);
      out_.handovers.resize(requests.size());
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      require_room(i, requests, generating_);
      if (prefill_) require_room(i, prompts_, *prefill_);
    }
  }

  Service run() {
    arriving_.start([this](std::size_t r, SimTime at) { arrives(r, at); });
    if (!requests_.empty()) start_ = events_.top().time;
    while (!events_.empty()) {
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) happen();
      if (prefill_) pump_prefill();
      pump_generating();
    }
    summarize();
    return std::move(out_);
  }

 private:
  void arrives(std::size_t r, SimTime at) { events_.push({at, Happens::kArrives, r}); }
  static void require_room(std::size_t i, const std::vector<Request>& requests, Pool& pool) {
    const Request& r = requests[i];
    const Engine& engine = pool[0].engine;
    const ServerOptions& o = pool.options();
    const std::string request = "request " + std::to_string(i) + " of " + std::to_string(r.prompt) +
                                " prompt and " + std::to_string(r.output) + " output tokens";
    if (r.prompt < 1 || r.output < 1 || !engine.has_room(r)) {
      throw InputError({"R002",
                        request + " never fits into the cache of a replica",
                        {"", 0, 0, "serving"},
                        "at least 1 token each, and together at most " +
                            std::to_string(o.kept.most_tokens(o.blocks, o.limits.max_tokens,
                                                              o.limits.block_size)),
                        "shorten the requests, or use more devices or narrower weights"});
    }
    if (engine.fits_step(r)) return;
    throw InputError(
        {"R003",
         request + " never fits into a step, and without chunked prefill may not be cut",
         {"", 0, 0, "serving.engine.max_num_batched_tokens"},
         "prompt and answer, but for its last token, of at most max_num_batched_tokens "
         "= " +
             std::to_string(o.limits.max_tokens),
         "raise serving.engine.max_num_batched_tokens, or set "
         "serving.engine.chunked_prefill to true"});
  }
  void happen() {
    const Event e = events_.top();
    events_.pop();
    const std::size_t prefills = prefill_ ? prefill_->replicas().size() : 0;
    switch (e.what) {
      case Happens::kArrives: return arrive(e.number);
      case Happens::kReceives: return receive(e.number);
      case Happens::kStepEnds:
        e.number < prefills ? end_prefill(e.number) : end_step(e.number - prefills);
    }
  }
  void arrive(std::size_t r) {
    Pool& pool = prefill_ ? *prefill_ : generating_;
    const std::size_t least = pool.least();
    out_.requests[r].arrival = now_;
    out_.requests[r].replica = static_cast<std::int64_t>(least);
    pool[least].engine.admit(r);
  }
  void count_token(std::size_t r) {
    Served& s = out_.requests[r];
    s.first_token == 0 ? void(s.first_token = now_) : out_.gaps.push_back(now_ - last_token_[r]);
    last_token_[r] = now_;
  }
  void finish(std::size_t r) {
    out_.requests[r].finish = now_;
    out_.makespan = now_ - start_;
    arriving_.answered(r, now_, [this](std::size_t next, SimTime at) { arrives(next, at); });
  }
  void end_step(std::size_t i) {
    const Progress done = generating_.complete(i, now_);
    for (const std::size_t r : done.sampled) count_token(r);
    for (const std::size_t r : done.finished) {
      generating_[i].engine.release(r);
      finish(r);
    }
    if (handing_ != nullptr && !done.finished.empty()) fetch(i);
  }
  /// Prompts that are computed go on, or are answered where a token was all that was asked for.
  void end_prefill(std::size_t i) {
    const bool samples = handing_->first_token == FirstToken::kPrefill;
    for (const std::size_t r : prefill_->complete(i, now_).finished) {
      out_.handovers[r].prefilled = now_;
      if (samples) count_token(r);
      if (samples && requests_[r].output == 1) {
        (*prefill_)[i].engine.release(r);
        finish(r);
        continue;
      }
      const std::size_t least = generating_.least();
      out_.handovers[r].replica = static_cast<std::int64_t>(least);
      generating_[least].to_fetch.push_back(r);
      fetch(least);
    }
  }
  /// Sends what replica i has room for.
  void fetch(std::size_t i) {
    Replica& to = generating_[i];
    const std::int64_t generated = handing_->first_token == FirstToken::kPrefill ? 1 : 0;
    while (!to.to_fetch.empty() && to.engine.reserve(to.to_fetch.front(), generated)) {
      const std::size_t r = to.to_fetch.front();
      to.to_fetch.pop_front();
      Handover& h = out_.handovers[r];
      h.asked = now_;
      h.tokens = requests_[r].prompt - to.engine.found(r);
      h.received =
          ports_->send(static_cast<std::size_t>(out_.requests[r].replica), i, h.tokens, now_);
      events_.push({h.received, Happens::kReceives, r});
    }
  }
  void receive(std::size_t r) {
    (*prefill_)[static_cast<std::size_t>(out_.requests[r].replica)].engine.release(r);
    generating_[static_cast<std::size_t>(out_.handovers[r].replica)].engine.receive(r);
  }
  void pump_prefill() {
    prefill_->pump(now_, [&](std::size_t i, const Batch& batch, SimTime end) {
      events_.push({end, Happens::kStepEnds, i});
      for (const Scheduled& s : batch.sequences) {
        SimTime& begun = out_.handovers[s.request].begun;
        if (begun < 0) begun = now_;
      }
    });
  }
  void pump_generating() {
    const std::size_t prefills = prefill_ ? prefill_->replicas().size() : 0;
    generating_.pump(now_, [&](std::size_t i, const Batch& batch, SimTime end) {
      events_.push({end, Happens::kStepEnds, i + prefills});
      for (const Scheduled& s : batch.sequences) {
        if (handing_ == nullptr) break;
        SimTime& resumed = out_.handovers[s.request].resumed;
        if (resumed < 0) resumed = now_;
      }
    });
    // Sequences that were preempted have been admitted again: there may be room for others.
    for (std::size_t i = 0; handing_ != nullptr && i < generating_.replicas().size(); ++i) fetch(i);
  }
  void summarize() {
    static_cast<PoolUse&>(out_) = generating_.use();
    if (prefill_) out_.prefill_pool = prefill_->use();
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      Served& s = out_.requests[i];
      PLAIT_CHECK(s.finish > 0, "a request that was not answered");
      const auto replica = static_cast<std::size_t>(s.replica);
      const Engine& first = (prefill_ ? *prefill_ : generating_)[replica].engine;
      s.preemptions = first.preemptions(i), s.found = first.found(i);
      if (!prefill_) continue;
      const auto other = static_cast<std::size_t>(out_.handovers[i].replica);
      s.preemptions += generating_[other].engine.preemptions(i);
    }
  }

  const std::vector<Request>& requests_;
  Arriving arriving_;
  const DisaggregatedServer* handing_;
  std::vector<Request> prompts_;
  Pool generating_;
  std::optional<Pool> prefill_;
  std::optional<KvPorts> ports_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<SimTime> last_token_;
  SimTime now_ = 0, start_ = 0;
  Service out_;
};

}  // namespace

SimTime StepTime::total() const {
  SimTime sum = 0;
  for (const SimTime t : stage) sum = counted_sum(sum, t);
  for (const SimTime t : hop) sum = counted_sum(sum, t);
  return sum;
}

Service serve(const std::vector<Request>& requests, const Load& load, const ServerOptions& options,
              const StepPrice& price) {
  return Server(requests, load, options, price, nullptr).run();
}

Service serve(const std::vector<Request>& requests, const Load& load,
              const DisaggregatedServer& server) {
  return Server(requests, load, server.decode, server.decode_price, &server).run();
}

}  // namespace plait
