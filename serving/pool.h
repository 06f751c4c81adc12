#pragma once
// Replicas of one layout at work. Each forms batches (serving/engine.h) and passes them through its
// pipeline stages; a batch b goes through stages s = 0 .. p - 1, with up to p batches on the way:
//   issued(b) = max(now, host) + overhead                  the host is one thread
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
  /// What the oldest batch of replica i brought forth.
  Progress complete(std::size_t i);
  /// Launches what replica i can run; `launched(batch, end)` sees each batch and when it has passed
  /// the last stage.
  template <class F>
  void pump(std::size_t i, SimTime now, F&& launched) {
    Replica& replica = replicas_[i];
    while (static_cast<std::int64_t>(replica.in_flight.size()) < options_.batches_in_flight) {
      Batch batch = replica.engine.schedule();
      if (batch.empty()) return;
      const SimTime end = launch(i, batch, now);
      launched(batch, end);
      replica.in_flight.push_back(std::move(batch));
    }
  }
  const ServerOptions& options() const { return options_; }
  /// With the guesses of all replicas.
  PoolUse use() const;

 private:
  SimTime launch(std::size_t i, const Batch& batch, SimTime now);
  void account(const Batch& batch, const StepTime& time, SimTime overhead);

  const ServerOptions& options_;
  const StepPrice& price_;
  std::vector<Replica> replicas_;
  PoolUse use_;
};

}  // namespace plait
