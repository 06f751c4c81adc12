#pragma once
// Schedulers at random, small enough that everything happens: cut prompts, preemption, windows,
// prefixes that are found.
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "serving/engine.h"

namespace plait::engine_test {

struct Case {
  EngineLimits limits;
  std::int64_t blocks = 0;
  std::vector<Request> requests;
  KeptLayers kept = {};
};

/// Prefixes of 3 and 7 tokens, three conversations with each of them and with none.
inline std::vector<SharedSpan> drawn_text() {
  const std::int64_t prefix = *rc::gen::inRange(0, 3), conversation = *rc::gen::inRange(0, 4);
  std::vector<SharedSpan> out;
  if (prefix > 0) out.push_back({prefix == 1 ? 3 : 7, prefix});
  if (conversation > 0) out.push_back({*rc::gen::inRange(8, 50), 10 * prefix + conversation + 10});
  return out;
}

inline Case drawn_case() {
  Case c;
  c.limits.max_tokens = *rc::gen::inRange(1, 40);
  c.limits.max_sequences = *rc::gen::inRange(1, 8);
  c.limits.block_size = *rc::gen::inRange(1, 6);
  c.limits.admission =
      *rc::gen::element(Admission::kChunk, Admission::kPrompt, Admission::kSequence);
  const int n = *rc::gen::inRange(1, 12);
  std::int64_t longest = 0;
  for (int i = 0; i < n; ++i) {
    Request r;
    r.prompt = *rc::gen::inRange(1, 30), r.output = *rc::gen::inRange(1, 12);
    longest = std::max(longest, r.prompt + r.output);
    c.requests.push_back(r);
  }
  if (*rc::gen::arbitrary<bool>()) c.kept = {.all = 1, .windowed = 2, .window = 5};
  if (*rc::gen::arbitrary<bool>()) c.kept.states = *rc::gen::inRange(1, 4);
  c.limits.prefix_caching = !c.kept.differ() && *rc::gen::arbitrary<bool>();
  for (Request& r : c.requests) {
    if (c.limits.prefix_caching) r.shared = drawn_text();
  }
  const std::int64_t least = c.kept.most_blocks(longest, c.limits.max_tokens, c.limits.block_size);
  c.blocks = least + *rc::gen::inRange(0, 10);
  return c;
}

/// Runs all requests with `in_flight` batches at a time; `look` sees each batch.
template <class Look>
std::vector<std::size_t> run(const Case& c, std::size_t in_flight, Engine& engine, Look&& look) {
  for (std::size_t i = 0; i < c.requests.size(); ++i) engine.admit(i);
  std::deque<Batch> flying;
  std::vector<std::size_t> finished;
  for (int steps = 0; finished.size() < c.requests.size(); ++steps) {
    RC_ASSERT(steps < 100'000);
    while (flying.size() < in_flight) {
      Batch batch = engine.schedule();
      if (batch.empty()) break;
      look(batch);
      flying.push_back(std::move(batch));
    }
    RC_ASSERT(!flying.empty());
    const Progress done = engine.complete(flying.front());
    flying.pop_front();
    for (const std::size_t r : done.finished) engine.release(r);
    finished.insert(finished.end(), done.finished.begin(), done.finished.end());
  }
  return finished;
}

}  // namespace plait::engine_test
