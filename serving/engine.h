#pragma once
// The scheduler of one replica, as vLLM's (vllm/v1/core/sched/scheduler.py; Kwon et al. 2023, Yu et
// al. 2022, Agrawal et al. 2024): continuous batching in steps of at most `max_tokens`. Sequences
// that generate come first, then prompts that have begun, then waiting requests in the order of
// arrival, whose prompts are cut to what is left of the budget; the first of these waits until what
// `admission` asks for is free, and the others behind it. Keys and values live in blocks;
// where none are free the sequence admitted last gives its blocks back and starts over (preemption
// by recomputation), as the first of those that wait. With prefix caching a sequence that is
// admitted begins behind what it finds in the cache (serving/prefix_cache.h). With speculative
// decoding a sequence that generates brings its guesses along (serving/guesses.h), as far as the
// budget goes; those that are not accepted are computed again.
//
// A sequence whose prompt was computed elsewhere takes its blocks first (`reserve`), and runs when
// its keys and values have come (`receive`): before others that wait, as it has all that a step
// needs.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "plan/requests.h"
#include "plan/serving.h"
#include "serving/guesses.h"
#include "serving/kept_layers.h"
#include "serving/prefix_cache.h"
#include "serving/requests.h"

namespace plait {

/// Tokens of one sequence in a step.
struct Scheduled {
  std::size_t request = 0;
  std::int64_t tokens = 0;
  std::int64_t guesses = 0;  // the last of these
  bool operator==(const Scheduled&) const = default;
};

struct Batch {
  Step step;
  std::vector<Scheduled> sequences;
  bool empty() const { return sequences.empty(); }
};

/// What a step brought forth.
struct Progress {
  std::vector<std::size_t> sampled;   // requests that have one token more, or several
  std::vector<std::size_t> finished;  // of these, with all their tokens
};

class Engine {
 public:
  /// `blocks`: of the cache. `requests` outlives the engine. Prefix caching is of layers that keep
  /// all tokens.
  Engine(const EngineLimits& limits, std::int64_t blocks, const std::vector<Request>& requests,
         const KeptLayers& kept = {}, const Guesses& guesses = {});

  void admit(std::size_t request) { waiting_.push_back(request); }
  /// The next batch, of sequences that are in no batch at the moment; empty: nothing can run.
  Batch schedule();
  /// Requests that have finished keep their blocks until they are released.
  Progress complete(const Batch& batch);
  void release(std::size_t request) { give_blocks(request); }

  /// Blocks for the prompt, which comes from elsewhere but for what the cache has (`found`), and
  /// for the token behind it, with `generated` tokens of the answer. False: there are too few, or
  /// sequences that were preempted come first.
  bool reserve(std::size_t request, std::int64_t generated);
  void receive(std::size_t request);

  std::size_t outstanding() const {
    return waiting_.size() + reserved_ + received_.size() + running_.size();
  }
  std::int64_t free_blocks() const { return cache_ ? cache_->free_blocks() : free_; }
  std::int64_t preemptions(std::size_t request) const { return state_[request].preemptions; }
  /// Tokens of its prompt that the cache had when it was admitted first.
  std::int64_t found(std::size_t request) const { return state_[request].found; }
  /// Of steps' sequences with guesses: how many there were, with how many guesses, of which so many
  /// were right.
  const GuessTotals& guessed() const { return guessed_; }
  /// False: a request that could not run even if it had the cache for itself.
  bool has_room(const Request& request) const;
  /// False: its prompt may not be cut, and is longer than a step. After a preemption the answer so
  /// far comes with it.
  bool fits_step(const Request& request) const;

 private:
  struct State {
    std::int64_t computed = 0;   // tokens whose keys and values are in the cache
    std::int64_t generated = 0;  // tokens of the answer
    std::int64_t blocks = 0;     // without prefix caching
    std::int64_t found = 0;
    std::int64_t preemptions = 0;
    bool in_flight = false;
  };
  std::int64_t known(std::size_t r) const { return requests_[r].prompt + state_[r].generated; }
  std::int64_t missing(std::size_t r) const { return known(r) - state_[r].computed; }
  /// Guesses that a sequence which is to compute `tokens` brings along.
  std::int64_t guesses(std::size_t r, std::int64_t tokens) const;
  /// Tokens that it may come to in the cache, guesses and what is behind them included.
  std::int64_t most_tokens(const Request& r) const;
  std::int64_t most_blocks(std::int64_t tokens) const;
  bool may_begin(std::size_t r) const;
  bool take_blocks(std::size_t r, std::int64_t tokens, std::int64_t slots = 0);
  void give_blocks(std::size_t r);
  void run(std::size_t r, std::int64_t tokens, std::int64_t guesses, Batch& batch);
  bool make_room(std::size_t r, std::int64_t tokens, std::int64_t slots);
  void preempt(std::size_t r);
  std::int64_t check(std::size_t r, std::int64_t guesses);
  void schedule_running(bool generating, Batch& batch);
  void schedule_received(Batch& batch);
  void schedule_waiting(Batch& batch);
  bool has_place() const {
    return static_cast<std::int64_t>(running_.size()) < limits_.max_sequences;
  }
  Step shape(const Batch& batch) const;

  EngineLimits limits_;
  std::int64_t blocks_ = 0;
  KeptLayers kept_;
  Guesses guesses_;
  GuessTotals guessed_;
  const std::vector<Request>& requests_;
  std::vector<State> state_;
  std::optional<PrefixCache> cache_;
  std::deque<std::size_t> waiting_;
  std::size_t reserved_ = 0;  // requests whose keys and values are on the way
  std::deque<std::size_t> received_;
  std::vector<std::size_t> running_;  // in the order of admission
  std::int64_t free_ = 0, budget_ = 0;
  bool preempted_ = false;  // in this step
};

}  // namespace plait
