// The scheduler by itself: what it may never do, whatever the requests.
#include "serving/engine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/serving/drawn_case.h"

namespace plait::engine_test {

RC_GTEST_PROP(Engine, EveryRequestFinishesAndGivesItsBlocksBack, ()) {
  const Case c = drawn_case();
  const auto in_flight = static_cast<std::size_t>(*rc::gen::inRange(1, 4));
  Engine engine(c.limits, c.blocks, c.requests, c.kept);
  run(c, in_flight, engine, [](const Batch&) {});
  RC_ASSERT(engine.free_blocks() == c.blocks);
  RC_ASSERT(engine.outstanding() == 0U);
}

RC_GTEST_PROP(Engine, KeepsBudgetSequencesAndBlocks, ()) {
  const Case c = drawn_case();
  Engine engine(c.limits, c.blocks, c.requests, c.kept);
  run(c, 1, engine, [&](const Batch& batch) {
    std::int64_t tokens = 0;
    for (const Scheduled& s : batch.sequences) tokens += s.tokens;
    RC_ASSERT(tokens <= c.limits.max_tokens);
    RC_ASSERT(static_cast<std::int64_t>(batch.sequences.size()) <= c.limits.max_sequences);
    RC_ASSERT(engine.free_blocks() >= 0);
  });
}

RC_GTEST_PROP(Engine, NoSequenceIsInTwoBatchesAtOnce, ()) {
  const Case c = drawn_case();
  Engine engine(c.limits, c.blocks, c.requests, c.kept);
  std::vector<std::int64_t> computed(c.requests.size());
  // Without preemption each token that is not found is computed once: those of the prompt and all
  // answers but the last.
  std::int64_t sum = 0;
  run(c, 3, engine, [&](const Batch& batch) {
    for (const Scheduled& s : batch.sequences) sum += s.tokens;
  });
  std::int64_t preemptions = 0, needed = 0;
  for (std::size_t i = 0; i < c.requests.size(); ++i) {
    preemptions += engine.preemptions(i);
    needed += c.requests[i].prompt + c.requests[i].output - 1 - engine.found(i);
  }
  // What is preempted may find more than it had, where others with the same text went on.
  if (preemptions == 0) RC_ASSERT(sum == needed);
  if (!c.limits.prefix_caching) RC_ASSERT(sum >= needed);
}

RC_GTEST_PROP(Engine, EqualRequestsFinishInTheOrderOfArrival, ()) {
  Case c = drawn_case();
  for (Request& r : c.requests) r = c.requests[0];
  Engine engine(c.limits, c.blocks, c.requests, c.kept);
  const std::vector<std::size_t> finished = run(c, 1, engine, [](const Batch&) {});
  RC_ASSERT(std::ranges::is_sorted(finished));
}

std::vector<Request> two(std::int64_t prompt, std::int64_t output) {
  return {{0, prompt, output, 0}, {0, prompt, output, 0}};
}

// Prompts of 10 and a budget of 8: 8; then 2 and 6 of the next; then the first generates, and the
// second's last 4 tokens come behind it.
TEST(Engine, GenerationComesBeforePromptsAndPromptsAreCut) {
  const std::vector<Request> requests = two(10, 3);
  EngineLimits limits;
  limits.max_tokens = 8;
  Engine engine(limits, 100, requests);
  engine.admit(0), engine.admit(1);
  using Sequences = std::vector<Scheduled>;
  for (const Sequences& expected :
       {Sequences{{0, 8}}, Sequences{{0, 2}, {1, 6}}, Sequences{{0, 1}, {1, 4}},
        Sequences{{0, 1}, {1, 1}}, Sequences{{1, 1}}}) {
    const Batch batch = engine.schedule();
    EXPECT_EQ(batch.sequences, expected);
    engine.complete(batch);
  }
  EXPECT_EQ(engine.outstanding(), 0U);
}

TEST(Engine, UncutPromptsWaitForABudgetOfTheirLength) {
  const std::vector<Request> requests = two(6, 1);
  EngineLimits limits;
  limits.max_tokens = 8, limits.chunked_prefill = false;
  Engine engine(limits, 100, requests);
  engine.admit(0), engine.admit(1);
  EXPECT_EQ(engine.schedule().sequences, (std::vector<Scheduled>{{0, 6}}));
}

// Blocks of 1 and 7 of them: prompts of 3 and 3 leave one, which the first takes to generate; the
// second gives its own back when the first needs one more.
TEST(Engine, TheLastAdmittedIsPreemptedAndStartsOver) {
  const std::vector<Request> requests = two(3, 4);
  EngineLimits limits;
  limits.block_size = 1;
  Engine engine(limits, 7, requests);
  engine.admit(0), engine.admit(1);
  std::vector<std::size_t> finished;
  for (int i = 0; i < 20 && finished.size() < 2; ++i) {
    const Progress done = engine.complete(engine.schedule());
    for (const std::size_t r : done.finished) engine.release(r);
    finished.insert(finished.end(), done.finished.begin(), done.finished.end());
  }
  EXPECT_EQ(finished, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(engine.preemptions(0), 0);
  EXPECT_EQ(engine.preemptions(1), 1);
}

/// Three requests with prompts of 8 tokens, of which 12 are kept at a time, in steps of 4: how
/// often one was preempted.
std::int64_t preemptions_with(Admission admission, bool prefix_caching) {
  std::vector<Request> requests = two(8, 3);
  requests.push_back(requests[0]);
  EngineLimits limits;
  limits.max_tokens = 4, limits.block_size = 1, limits.admission = admission;
  limits.prefix_caching = prefix_caching;
  Engine engine(limits, 12, requests);
  for (std::size_t r = 0; r < requests.size(); ++r) engine.admit(r);
  std::int64_t sum = 0;
  for (std::size_t finished = 0, step = 0; finished < requests.size() && step < 1000; ++step) {
    const Progress done = engine.complete(engine.schedule());
    for (const std::size_t r : done.finished) engine.release(r);
    finished += done.finished.size();
  }
  EXPECT_EQ(engine.outstanding(), 0U);
  for (std::size_t r = 0; r < requests.size(); ++r) sum += engine.preemptions(r);
  return sum;
}

// The first chunk of the second prompt fits beside the first sequence, the rest of it does not.
TEST(Engine, APromptThatWouldNotFitWaits) {
  for (const bool prefix_caching : {false, true}) {
    EXPECT_GT(preemptions_with(Admission::kChunk, prefix_caching), 0);
    EXPECT_EQ(preemptions_with(Admission::kPrompt, prefix_caching), 0);
    EXPECT_EQ(preemptions_with(Admission::kSequence, prefix_caching), 0);
  }
}

// Of a prompt that fits the answer may not.
TEST(Engine, WhatIsReservedToItsEndIsNeverPreempted) {
  const auto preemptions = [](Admission admission) {
    const std::vector<Request> requests = two(3, 4);
    EngineLimits limits;
    limits.block_size = 1, limits.admission = admission;
    Engine engine(limits, 7, requests);
    engine.admit(0), engine.admit(1);
    for (int i = 0; i < 20; ++i) {
      for (const std::size_t r : engine.complete(engine.schedule()).finished) engine.release(r);
    }
    EXPECT_EQ(engine.outstanding(), 0U);
    return engine.preemptions(0) + engine.preemptions(1);
  };
  EXPECT_EQ(preemptions(Admission::kPrompt), 1);
  EXPECT_EQ(preemptions(Admission::kSequence), 0);
}

RC_GTEST_PROP(Engine, SequencesReservedToTheirEndsAreNeverPreempted, ()) {
  Case c = drawn_case();
  c.limits.admission = Admission::kSequence;
  Engine engine(c.limits, c.blocks, c.requests, c.kept);
  run(c, 2, engine, [](const Batch&) {});
  for (std::size_t r = 0; r < c.requests.size(); ++r) RC_ASSERT(engine.preemptions(r) == 0);
}

// Pairs of prompts of 4 and 8 tokens: 4 5 / 2 + 8 9 / 2 = 46; of two of 6: 42. The mean keeps the
// tokens and adds keys until the pairs agree.
TEST(Engine, AStepsShapeKeepsTokensAndPairs) {
  const std::vector<Request> requests = {{0, 4, 1, 0}, {0, 8, 1, 0}};
  EngineLimits limits;
  Engine engine(limits, 100, requests);
  engine.admit(0), engine.admit(1);
  const Step step = engine.schedule().step;
  EXPECT_EQ(step.tokens(), 12);
  EXPECT_EQ(step.sampled, 2);
  const Chunk& p = step.prefill;
  EXPECT_NEAR(static_cast<double>(p.sequences * (p.tokens * p.context - p.tokens * 5 / 2)), 46,
              static_cast<double>(p.sequences * p.tokens) / 2);
}

// Rounding the length of each up to 17 would make 4,352 tokens of 4,097.
TEST(Engine, AStepsShapeKeepsTheTokensOfManyShortPrompts) {
  std::vector<Request> requests(256, {0, 16, 1, 0});
  requests.front().prompt = 17;
  EngineLimits limits;
  limits.max_sequences = 256, limits.max_tokens = 8192;
  Engine engine(limits, 1000, requests);
  for (std::size_t r = 0; r < requests.size(); ++r) engine.admit(r);
  const Step step = engine.schedule().step;
  EXPECT_EQ(step.tokens(), 4097);
  EXPECT_EQ(step.sampled, 256);
}

}  // namespace plait::engine_test
