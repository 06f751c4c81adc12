#pragma once
// Replicas of one layout at work. Each forms batches (serving/engine.h) and passes them through its
// pipeline stages; a batch b goes through stages s = 0 .. p - 1, with up to p batches on the way:
//   issued(b) = max(now, host) + overhead                  the host is one thread
//   issued(b) = max(now, host + overhead)                  with async scheduling: it has prepared
//   b,
//                                                          which follows one that ends now (over
//                                                          stages: vLLM's pull request 32359)
//   begin(b, s) = max(arrived(b, s), end(b - 1, s))        a stage works on one batch at a time
//   end(b, s) = begin(b, s) + stage[s],  arrived(b, s + 1) = end(b, s) + hop[s]

#include <deque>
#include <vector>

#include "serving/serve.h"

namespace plait {

/// One replica: its scheduler, its host and its pipeline.
struct Replica {
  Engine engine;
  std::deque<std::size_t> to_fetch = {};  // requests whose keys and values it has no room for yet
  std::deque<Batch> in_flight = {};       // oldest first
  SimTime completed = -1;                 // when the last batch that has passed all stages did so
  SimTime host = 0;                       // free from then on
  std::vector<SimTime> stage = {};        // the same
  std::size_t outstanding() const { return engine.outstanding() + to_fetch.size(); }
};

class Pool {
 public:
  /// All outlive it.
  Pool(const std::vector<Request>& requests, const ServerOptions& options, const StepPrice& price);

  /// Those that may have requests.
  std::vector<Replica>& replicas() { return replicas_; }
  Replica& operator[](std::size_t i) { return replicas_[i]; }
  /// With the fewest requests, the first of several.
  std::size_t least() const;
  /// What the oldest batch of replica i, which ends now, brought forth.
  Progress complete(std::size_t i, SimTime now);
  /// Launches what all replicas can run, a batch of each at a time: those that share experts are
  /// to know of one another's. `launched(i, batch, end)` sees each and when it has passed the last
  /// stage.
  template <class F>
  void pump(SimTime now, F&& launched) {
    while (form()) {
      for (const std::size_t i : formed_) {
        const Batch& batch = replicas_[i].in_flight.back();
        launched(i, batch, launch(i, batch, now));
      }
    }
  }
  const ServerOptions& options() const { return options_; }
  /// With the guesses of all replicas.
  PoolUse use() const;

 private:
  /// A further batch in flight on each replica that has one; none has: false.
  bool form();
  SimTime launch(std::size_t i, const Batch& batch, SimTime now);
  Step among_others(std::size_t i, Step step) const;
  void account(const Batch& batch, const StepTime& time, SimTime overhead);

  const ServerOptions& options_;
  const StepPrice& price_;
  std::vector<Replica> replicas_;
  std::vector<std::size_t> formed_;
  PoolUse use_;
};

}  // namespace plait
