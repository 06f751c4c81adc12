// The cache of prefixes by itself and under a scheduler: what is found, what is forgotten first,
// and that no block is lost.
#include "serving/prefix_cache.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "serving/serve.h"
#include "serving/summary.h"
#include "tests/serving/drawn_case.h"

namespace plait::prefix_cache_test {

using engine_test::Case;
using engine_test::drawn_case;
using engine_test::run;

/// `n` requests of so many tokens, the first `common` of which they share.
std::vector<Request> alike(std::size_t n, std::int64_t prompt, std::int64_t output,
                           std::int64_t common) {
  return std::vector<Request>(n, Request{0, prompt, output, 0, {{common, 0}}});
}

/// The first tokens of r, all computed by it.
void hold_all(PrefixCache& cache, std::size_t r, std::int64_t tokens) {
  ASSERT_TRUE(cache.hold(r, cache.found(r, tokens), tokens));
}

// ---- The rules, one by one ----

// Blocks of 4: of 10 shared tokens two whole blocks.
TEST(PrefixCache, FindsWholeBlocksOfWhatIsShared) {
  const std::vector<Request> requests = alike(2, 30, 1, 10);
  PrefixCache cache(100, 4, requests);
  EXPECT_EQ(cache.found(0, 30), 0);
  hold_all(cache, 0, 30);
  EXPECT_EQ(cache.found(1, 30), 8);
  EXPECT_EQ(cache.found(0, 30), 28);  // its own, as after a preemption
}

TEST(PrefixCache, TheLastTokenIsComputedAndItsBlockWithIt) {
  const std::vector<Request> requests = alike(2, 16, 1, 16);
  PrefixCache cache(100, 4, requests);
  hold_all(cache, 0, 16);
  EXPECT_EQ(cache.found(1, 16), 12);
  EXPECT_EQ(cache.found(1, 17), 16);
}

TEST(PrefixCache, ABlockIsFoundOnceAllItsTokensAreThere) {
  const std::vector<Request> requests = alike(2, 16, 1, 16);
  PrefixCache cache(100, 4, requests);
  ASSERT_TRUE(cache.hold(0, 0, 7));
  EXPECT_EQ(cache.found(1, 16), 4);
  ASSERT_TRUE(cache.hold(0, 7, 8));
  EXPECT_EQ(cache.found(1, 16), 8);
}

// Two requests of 8 blocks, of which 6 are the same, take 8 + 2.
TEST(PrefixCache, SharedBlocksAreTakenOnce) {
  const std::vector<Request> requests = alike(2, 32, 1, 24);
  PrefixCache cache(100, 4, requests);
  hold_all(cache, 0, 32), hold_all(cache, 1, 32);
  EXPECT_EQ(cache.free_blocks(), 90);
  cache.release(0);
  EXPECT_EQ(cache.free_blocks(), 92);  // six are still used
  cache.release(1);
  EXPECT_EQ(cache.free_blocks(), 100);
}

// Room for four blocks, filled by 0 and given back. 1 takes n: the last n of 0 are forgotten.
TEST(PrefixCache, EndsAreForgottenBeforeBeginnings) {
  const std::vector<Request> requests = {{0, 17, 1, 0}, {0, 17, 1, 0}};
  for (std::int64_t n = 0; n <= 4; ++n) {
    PrefixCache cache(4, 4, requests);
    hold_all(cache, 0, 16);
    cache.release(0);
    if (n > 0) hold_all(cache, 1, 4 * n);
    EXPECT_EQ(cache.found(0, 17), 4 * (4 - n)) << n;
  }
}

TEST(PrefixCache, TheLeastRecentlyUsedIsForgottenFirst) {
  const std::vector<Request> requests(3, Request{0, 9, 1, 0});
  PrefixCache cache(4, 4, requests);
  hold_all(cache, 0, 8);
  hold_all(cache, 1, 8);
  cache.release(0), cache.release(1);
  hold_all(cache, 0, 8);  // used again
  cache.release(0);
  hold_all(cache, 2, 8);
  EXPECT_EQ(cache.found(0, 9), 8);
  EXPECT_EQ(cache.found(1, 9), 0);
}

TEST(PrefixCache, WhatIsUsedIsNeverForgotten) {
  const std::vector<Request> requests = {
      {0, 9, 1, 0, {{8, 0}}}, {0, 9, 1, 0, {{8, 0}}}, {0, 9, 1, 0}};
  PrefixCache cache(3, 4, requests);
  hold_all(cache, 0, 8);
  EXPECT_FALSE(cache.hold(2, 0, 8));
  EXPECT_EQ(cache.free_blocks(), 1);
  EXPECT_EQ(cache.found(1, 9), 8);
}

// What is found and free is no room for what is new: 2 of 3 blocks are found, 2 more are asked for.
TEST(PrefixCache, FoundBlocksAreNoRoomForOthers) {
  const std::vector<Request> requests = alike(2, 16, 1, 8);
  PrefixCache cache(3, 4, requests);
  hold_all(cache, 0, 8);
  cache.release(0);
  EXPECT_EQ(cache.found(1, 16), 8);
  EXPECT_FALSE(cache.hold(1, 8, 16));
  EXPECT_EQ(cache.free_blocks(), 3);
  EXPECT_TRUE(cache.hold(1, 8, 12));
}

// ---- Against the same written down plainly ----

/// Blocks in a list, found by going through all of it.
struct Plain {
  struct Block {
    std::optional<std::pair<std::int64_t, std::int64_t>> holds;
    std::int64_t uses = 0, since = 0;  // when it was given back
    std::int64_t known_since = 0;
  };
  std::vector<Block> blocks;
  std::int64_t size, clock = 0;
  const std::vector<Request>& requests;
  std::map<std::size_t, std::vector<std::size_t>> held = {};

  std::pair<std::int64_t, std::int64_t> text(std::size_t r, std::int64_t i) const {
    for (const SharedSpan& s : requests[r].shared) {
      if ((i + 1) * size <= s.until) return {s.text, i};
    }
    return {-1 - static_cast<std::int64_t>(r), i};
  }
  std::optional<std::size_t> known(std::size_t r, std::int64_t i) const {
    std::optional<std::size_t> oldest;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].holds != text(r, i)) continue;
      if (!oldest || blocks[b].known_since < blocks[*oldest].known_since) oldest = b;
    }
    return oldest;
  }
  std::int64_t found(std::size_t r, std::int64_t tokens) const {
    std::int64_t n = 0;
    while ((n + 1) * size < tokens && known(r, n)) ++n;
    return n * size;
  }
  std::int64_t free_blocks() const {
    return std::ranges::count_if(blocks, [](const Block& b) { return b.uses == 0; });
  }
  /// Nobody's: one that holds nothing, or that was given back first.
  std::size_t next_free() const {
    std::optional<std::size_t> best;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].uses > 0) continue;
      const auto rank = [&](std::size_t x) {
        return std::pair(blocks[x].holds.has_value(), blocks[x].since);
      };
      if (!best || rank(b) < rank(*best)) best = b;
    }
    return *best;
  }
  void hold(std::size_t r, std::int64_t computed, std::int64_t tokens) {
    std::vector<std::size_t>& mine = held[r];
    const std::int64_t hits = mine.empty() ? computed / size : 0;
    for (std::int64_t i = 0; i < hits; ++i) mine.push_back(*known(r, i));
    for (std::int64_t i = 0; i < hits; ++i) ++blocks[mine[static_cast<std::size_t>(i)]].uses;
    while (static_cast<std::int64_t>(mine.size()) * size < tokens) {
      const std::size_t b = next_free();
      blocks[b] = {std::nullopt, 1, 0, 0};
      mine.push_back(b);
    }
    for (std::int64_t i = 0; i < tokens / size; ++i) {
      Block& b = blocks[mine[static_cast<std::size_t>(i)]];
      if (!b.holds) b.known_since = ++clock;
      b.holds = text(r, i);
    }
  }
  void release(std::size_t r) {
    std::vector<std::size_t>& mine = held[r];
    for (; !mine.empty(); mine.pop_back()) {
      Block& b = blocks[mine.back()];
      if (--b.uses == 0) b.since = ++clock;
    }
  }
};

RC_GTEST_PROP(PrefixCache, DoesWhatItsRulesSayWhateverIsAsked, ()) {
  Case c = drawn_case();
  for (Request& r : c.requests) r.shared = engine_test::drawn_text();
  const std::int64_t size = c.limits.block_size;
  PrefixCache cache(c.blocks, size, c.requests);
  Plain plain{std::vector<Plain::Block>(static_cast<std::size_t>(c.blocks)), size, 0, c.requests};
  std::vector<std::int64_t> computed(c.requests.size());
  for (int step = 0; step < 60; ++step) {
    const std::size_t r = *rc::gen::inRange<std::size_t>(0, c.requests.size());
    const std::int64_t all = c.requests[r].prompt + c.requests[r].output;
    for (std::size_t i = 0; i < c.requests.size(); ++i) {
      RC_ASSERT(cache.found(i, all) == plain.found(i, all));
    }
    RC_ASSERT(cache.free_blocks() == plain.free_blocks());
    if (computed[r] == all || (computed[r] > 0 && *rc::gen::inRange(0, 4) == 0)) {
      cache.release(r), plain.release(r);
      computed[r] = 0;
      continue;
    }
    const std::int64_t from = computed[r] > 0 ? computed[r] : cache.found(r, all);
    const std::int64_t to = from + *rc::gen::inRange<std::int64_t>(1, all - from + 1);
    if (!cache.hold(r, from, to)) continue;
    plain.hold(r, from, to);
    computed[r] = to;
  }
}

// ---- Under the scheduler ----

// With room for all at once, so that nobody is preempted and finds his own again.
RC_GTEST_PROP(PrefixCache, ChangesNothingWhereNothingIsShared, ()) {
  Case c = drawn_case();
  c.kept = {};
  for (Request& r : c.requests) r.shared.clear();
  c.blocks = 12 * 50;
  std::vector<std::vector<Scheduled>> batches[2];
  std::vector<Step> steps[2];
  for (const bool on : {false, true}) {
    c.limits.prefix_caching = on;
    Engine engine(c.limits, c.blocks, c.requests);
    run(c, 2, engine,
        [&](const Batch& b) { batches[on].push_back(b.sequences), steps[on].push_back(b.step); });
  }
  RC_ASSERT(batches[0] == batches[1]);
  RC_ASSERT(steps[0] == steps[1]);
}

RC_GTEST_PROP(PrefixCache, WhatIsFoundIsNotComputed, ()) {
  Case c = drawn_case();
  c.kept = {}, c.blocks = 12 * 50;
  std::int64_t computed[2] = {0, 0}, found = 0;
  for (Request& r : c.requests) r.shared = engine_test::drawn_text();
  for (const bool on : {false, true}) {
    c.limits.prefix_caching = on;
    Engine engine(c.limits, c.blocks, c.requests);
    run(c, 1, engine, [&](const Batch& b) {
      for (const Scheduled& s : b.sequences) computed[on] += s.tokens;
    });
    for (std::size_t i = 0; on && i < c.requests.size(); ++i) {
      RC_ASSERT(engine.found(i) % c.limits.block_size == 0);
      RC_ASSERT(engine.found(i) < c.requests[i].prompt);
      found += engine.found(i);
    }
  }
  RC_ASSERT(computed[1] + found == computed[0]);
}

/// As in engine_test: prompts of 3 and 3 in 7 blocks of 1 token, four tokens to generate.
std::int64_t tokens_computed(bool caching) {
  const std::vector<Request> requests = {{0, 3, 4, 0}, {0, 3, 4, 0}};
  EngineLimits limits;
  limits.block_size = 1, limits.prefix_caching = caching;
  Engine engine(limits, 7, requests);
  engine.admit(0), engine.admit(1);
  std::int64_t tokens = 0;
  while (engine.outstanding() > 0) {
    const Batch batch = engine.schedule();
    for (const Scheduled& s : batch.sequences) tokens += s.tokens;
    for (const std::size_t r : engine.complete(batch).finished) engine.release(r);
  }
  EXPECT_EQ(engine.preemptions(1), 1);
  EXPECT_EQ(engine.free_blocks(), 7);
  return tokens;
}

// 0 needs 3 + 3 blocks. The second gives its 3 back, of which 0 takes the last and one more; it
// finds what is left of the beginning of its own.
TEST(PrefixCache, ThePreemptedFindWhatIsLeftOfTheirOwn) {
  EXPECT_LT(tokens_computed(true), tokens_computed(false));
}

// ---- Under a load ----

constexpr SimTime kMs = 1'000'000'000;

struct PerToken {
  StepTime last = {};
  const StepTime& operator()(const Step& step, std::size_t /*replica*/) {
    last.stage = {step.tokens() * kMs};
    return last;
  }
};

ServerOptions options(bool caching) {
  ServerOptions o;
  o.blocks = 1000;
  o.limits.step_overhead = Seconds();
  o.limits.prefix_caching = caching;
  return o;
}

Load one_user() {
  Load load;
  load.arrivals = Arrivals::kClosed, load.concurrency = 1;
  return load;
}

// A user who asks ten times for 160 tokens, 16 s of which are shared: the first time 160 tokens
// are computed, then 160 - 16 s.
TEST(PrefixCache, TheFirstTokenComesSoonerTheMoreIsShared) {
  for (std::int64_t s = 0; s <= 9; ++s) {
    const std::vector<Request> requests = alike(10, 160, 2, 16 * s);
    const Service service = serve(requests, one_user(), options(true), PerToken{});
    for (std::size_t i = 0; i < 10; ++i) {
      const Served& r = service.requests[i];
      EXPECT_EQ(r.found, i == 0 ? 0 : 16 * s);
      EXPECT_EQ(r.first_token - r.arrival, (160 - r.found) * kMs);
    }
    const ServiceSummary sum = summarize(service, requests, {}, 1, 1);
    EXPECT_NEAR(sum.all.hit_rate(), 0.9 * 16 * static_cast<double>(s) / 160, 1e-12);
  }
}

/// Conversations with a prefix, of three turns of 20 and 12 tokens.
Load conversations() {
  Load load = one_user();
  load.count = 9;
  load.kinds = {{"chat", 1, 20, 12, 0, 40, 2, 0, 3, Seconds(0.5)}};
  return load;
}

// Prompts of 40 + 20, then what came before and 20 more.
TEST(Conversations, EachPromptIsAllThatCameBeforeAndMore) {
  const std::vector<Request> r = draw_requests(conversations());
  ASSERT_EQ(r.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto turn = static_cast<std::int64_t>(i % 3);
    EXPECT_EQ(r[i].prompt, 60 + turn * 32);
    EXPECT_EQ(r[i].follows, turn == 0 ? -1 : static_cast<std::int64_t>(i) - 1);
    ASSERT_EQ(r[i].shared.size(), 2U);
    EXPECT_EQ(r[i].shared[0].until, 40);
    EXPECT_LT(r[i].shared[0].text, 2);
    EXPECT_EQ(r[i].shared[1].text, r[i - i % 3].shared[1].text);
  }
  EXPECT_NE(r[0].shared[1].text, r[3].shared[1].text);
}

TEST(Conversations, ATurnComesAfterTheAnswerBeforeAndAPause) {
  const Load load = conversations();
  const std::vector<Request> r = draw_requests(load);
  const Service s = serve(r, load, options(false), PerToken{});
  for (std::size_t i = 1; i < 9; ++i) {
    const SimTime pause = i % 3 == 0 ? 0 : kMs / 2 * 1000;
    EXPECT_EQ(s.requests[i].arrival, s.requests[i - 1].finish + pause);
  }
}

// The second turn finds of 60 + 11 computed tokens four blocks of 16, the third of 92 + 11 six; the
// last token of an answer is never computed.
TEST(Conversations, TurnsFindWhatCameBefore) {
  const Load load = conversations();
  const std::vector<Request> r = draw_requests(load);
  const Service s = serve(r, load, options(true), PerToken{});
  for (std::size_t i = 0; i < 9; ++i) {
    if (i % 3 == 0) continue;
    EXPECT_EQ(s.requests[i].found, (i % 3 == 1 ? 71 : 103) / 16 * 16);
  }
}

// Of 4 prefixes with weights 1, 1/2, 1/3, 1/4 the first is drawn 12 / 25 of the time.
TEST(Conversations, PrefixesAreDrawnByZipfsLaw) {
  Load load;
  load.count = 10'000;
  load.kinds = {{"a", 1, 20, 12, 0, 40, 4, 1}};
  std::int64_t first = 0;
  for (const Request& r : draw_requests(load)) first += r.shared[0].text == 0;
  EXPECT_NEAR(static_cast<double>(first) / 10'000, 12 / 25.0, 0.02);
}

}  // namespace plait::prefix_cache_test
