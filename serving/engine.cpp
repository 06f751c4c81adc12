#include "serving/engine.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace plait {
namespace {

/// Many sequences as one shape: as many of the mean length, in whole tokens, as keep the sums of
/// tokens and of (query, key) pairs. 256 prompts of 4,097 tokens are 241 of 17. A chunk of q tokens
/// up to key k has q k - q (q - 1) / 2 pairs.
struct Mean {
  std::int64_t sequences = 0, tokens = 0;
  double pairs = 0;
  void add(std::int64_t q, std::int64_t k) {
    ++sequences, tokens += q;
    const auto queries = static_cast<double>(q);
    pairs += queries * static_cast<double>(k) - queries * (queries - 1) / 2;
  }
  Chunk chunk() const {
    if (sequences == 0) return {};
    const std::int64_t each = ceil_div(tokens, sequences), count = (tokens + each / 2) / each;
    const auto queries = static_cast<double>(each);
    const double keys = pairs / (static_cast<double>(count) * queries) + (queries - 1) / 2;
    return {count, each, std::max(each, static_cast<std::int64_t>(std::llround(keys)))};
  }
};

}  // namespace

Engine::Engine(const EngineLimits& limits, std::int64_t blocks,
               const std::vector<Request>& requests, const KeptLayers& kept, const Guesses& guesses)
    : limits_(limits),
      blocks_(blocks),
      kept_(kept),
      guesses_(guesses),
      requests_(requests),
      state_(requests.size()),
      free_(blocks) {
  if (!limits.prefix_caching) return;
  PLAIT_CHECK(!kept.differ(), "prefixes are cached of layers that keep all tokens");
  cache_.emplace(blocks, limits.block_size, requests);
}

std::int64_t Engine::most_tokens(const Request& r) const {
  return r.prompt + r.output - 1 + guesses_.tokens + guesses_.lookahead;
}

std::int64_t Engine::most_blocks(std::int64_t tokens) const {
  const std::int64_t at_once = limits_.max_tokens + guesses_.lookahead;
  return kept_.most_blocks(tokens, at_once, limits_.block_size);
}

bool Engine::has_room(const Request& r) const { return most_blocks(most_tokens(r)) <= blocks_; }

bool Engine::fits_step(const Request& r) const {
  return limits_.chunked_prefill || r.prompt + r.output - 1 <= limits_.max_tokens;
}

std::int64_t Engine::guesses(std::size_t r, std::int64_t tokens) const {
  const bool generates = state_[r].generated > 0 && tokens == 1;
  return generates ? std::min(guesses_.tokens, budget_ - tokens) : 0;
}

/// Of a sequence that has none yet; what it keeps to its end it takes with the first of them.
bool Engine::may_begin(std::size_t r) const {
  if (limits_.admission != Admission::kPrompt) return true;
  if (cache_) return cache_->has_room(r, state_[r].computed, known(r));
  return most_blocks(known(r)) <= free_;
}

/// For so many tokens, and slots behind them.
bool Engine::take_blocks(std::size_t r, std::int64_t tokens, std::int64_t slots) {
  State& s = state_[r];
  const bool whole = limits_.admission == Admission::kSequence;
  const std::int64_t most = most_tokens(requests_[r]);
  const std::int64_t until = whole ? most : s.computed + tokens + slots;
  if (cache_) return cache_->hold(r, s.computed, s.computed + tokens, until);
  const std::int64_t all =
      whole ? most_blocks(most) : kept_.blocks(s.computed, tokens + slots, limits_.block_size);
  const std::int64_t more = all - s.blocks;
  if (more > free_) return false;  // below 0: some go back
  s.blocks += more, free_ -= more;
  return true;
}

void Engine::give_blocks(std::size_t r) {
  State& s = state_[r];
  if (cache_) cache_->release(r);
  free_ += s.blocks, s.blocks = 0;
}

void Engine::run(std::size_t r, std::int64_t tokens, std::int64_t guesses, Batch& batch) {
  state_[r].in_flight = true;
  budget_ -= tokens + guesses;
  batch.sequences.push_back({r, tokens + guesses, guesses});
}

void Engine::preempt(std::size_t r) {
  State& s = state_[r];
  give_blocks(r);
  s.computed = 0;
  ++s.preemptions;
  preempted_ = true;
  waiting_.push_front(r);
}

/// Preempts sequences admitted after r, the last first, until r has its blocks. Those that are in a
/// batch cannot be: r then waits for them, and where nothing was admitted after it, gives way
/// itself.
bool Engine::make_room(std::size_t r, std::int64_t tokens, std::int64_t slots) {
  while (!take_blocks(r, tokens, slots)) {
    const auto last = std::find_if(running_.rbegin(), running_.rend(),
                                   [&](std::size_t x) { return !state_[x].in_flight; });
    if (*last == r && running_.back() != r) return false;
    const std::size_t victim = *last;
    running_.erase(std::next(last).base());
    preempt(victim);
    if (victim == r) return false;
  }
  return true;
}

/// Victims are behind r in the list, or r itself: what is before stays where it is.
void Engine::schedule_running(bool generating, Batch& batch) {
  for (std::size_t i = 0; i < running_.size() && budget_ > 0;) {
    const std::size_t r = running_[i];
    const std::int64_t tokens = std::min(missing(r), budget_);
    const bool cut = tokens < missing(r);
    const bool is_turn = !state_[r].in_flight && (missing(r) == 1) == generating;
    if (!is_turn || (cut && !limits_.chunked_prefill)) {
      ++i;
      continue;
    }
    const std::int64_t guessed = guesses(r, tokens);
    if (make_room(r, tokens, guessed + guesses_.lookahead)) run(r, tokens, guessed, batch);
    if (i < running_.size() && running_[i] == r) ++i;
  }
}

/// What was reserved has room for the one token that is missing.
void Engine::schedule_received(Batch& batch) {
  while (!received_.empty() && budget_ > 0 && has_place()) {
    const std::size_t r = received_.front();
    PLAIT_CHECK(missing(r) == 1 && take_blocks(r, 1), "a sequence without room for its next token");
    received_.pop_front();
    running_.push_back(r);
    run(r, 1, 0, batch);
  }
}

void Engine::schedule_waiting(Batch& batch) {
  while (!waiting_.empty() && budget_ > 0 && !preempted_) {
    const std::size_t r = waiting_.front();
    State& s = state_[r];
    s.computed = cache_ ? cache_->found(r, known(r)) : 0;
    const std::int64_t tokens = std::min(missing(r), budget_);
    if (!has_place() || (tokens < missing(r) && !limits_.chunked_prefill)) return;
    if (!may_begin(r) || !take_blocks(r, tokens)) return;
    if (s.preemptions == 0) s.found = s.computed;
    waiting_.pop_front();
    running_.push_back(r);
    run(r, tokens, 0, batch);
  }
}

bool Engine::reserve(std::size_t r, std::int64_t generated) {
  if (!waiting_.empty()) return false;
  State& s = state_[r];
  s.generated = generated;
  s.computed = s.found = cache_ ? cache_->found(r, known(r)) : 0;
  if (!take_blocks(r, 0, missing(r))) return false;
  ++reserved_;
  return true;
}

void Engine::receive(std::size_t r) {
  State& s = state_[r];
  s.computed = known(r) - 1;
  if (cache_) take_blocks(r, 0);  // others find them from now on
  --reserved_;
  received_.push_back(r);
}

Step Engine::shape(const Batch& batch) const {
  Mean prefill, decode;
  Step step;
  for (const Scheduled& s : batch.sequences) {
    const std::int64_t context = state_[s.request].computed + s.tokens;
    const std::int64_t own = s.tokens - s.guesses;
    (own == 1 ? decode : prefill).add(s.tokens, context);
    if (own == missing(s.request)) step.sampled += 1 + s.guesses;
  }
  step.prefill = prefill.chunk(), step.decode = decode.chunk();
  step.sampled = std::max<std::int64_t>(step.sampled, 1);
  return step;
}

Batch Engine::schedule() {
  Batch batch;
  budget_ = limits_.max_tokens, preempted_ = false;
  schedule_running(true, batch);
  schedule_running(false, batch);
  schedule_received(batch);
  schedule_waiting(batch);
  if (!batch.empty()) batch.step = shape(batch);
  return batch;
}

/// How many guesses are right. Those that go beyond what is asked for count too.
std::int64_t Engine::check(std::size_t r, std::int64_t guesses) {
  if (guesses == 0) return 0;
  const std::int64_t right = accepted(guesses_, r, known(r), guesses);
  ++guessed_.checks, guessed_.guesses += guesses, guessed_.accepted += right;
  return right;
}

Progress Engine::complete(const Batch& batch) {
  Progress out;
  for (const Scheduled& scheduled : batch.sequences) {
    const std::size_t r = scheduled.request;
    State& s = state_[r];
    PLAIT_CHECK(s.in_flight, "a sequence completes that does not run");
    s.in_flight = false;
    s.computed += scheduled.tokens - scheduled.guesses;
    if (s.computed < known(r)) continue;
    const std::int64_t right = check(r, scheduled.guesses);
    s.computed += right, s.generated += 1 + right;
    out.sampled.push_back(r);
    if (s.generated < requests_[r].output) continue;
    out.finished.push_back(r);
    running_.erase(std::ranges::find(running_, r));
  }
  return out;
}

}  // namespace plait
