// Guesses: how many are right, what a scheduler does with them, and what they cost.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "core/error.h"
#include "plan/validate.h"
#include "serving/capacity.h"
#include "serving/drafter.h"
#include "serving/require_described.h"
#include "serving/serve.h"
#include "serving/summary.h"
#include "tests/serving/drawn_case.h"
#include "tests/serving/served.h"

namespace plait::speculative_test {

using engine_test::Case;
using engine_test::drawn_case;
using engine_test::run;

constexpr SimTime kMs = 1'000'000'000;

/// Leviathan et al. 2023, equation 1.
double expected_length(double a, std::int64_t k) {
  const auto n = static_cast<double>(k + 1);
  return a == 1 ? n : (1 - std::pow(a, n)) / (1 - a);
}

/// Steps until one request is answered.
struct Alone {
  std::int64_t steps = 0;
  GuessTotals guessed;
};
Alone answer_alone(std::int64_t output, const Guesses& guesses) {
  const std::vector<Request> requests = {{0, 10, output, 0}};
  Engine engine({}, 100'000, requests, {}, guesses);
  engine.admit(0);
  Alone out;
  for (; engine.outstanding() > 0; ++out.steps) engine.complete(engine.schedule());
  out.guessed = engine.guessed();
  return out;
}

// A length lies in [1, k + 1] and so has a deviation of at most k / 2; five of those of the mean.
RC_GTEST_PROP(Speculative, TheMeanLengthIsThatOfTheClosedForm, ()) {
  const double a = *rc::gen::inRange(0, 101) / 100.0;
  const std::int64_t k = *rc::gen::inRange(1, 9);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const GuessTotals g = answer_alone(20'000, {k, 0, a, seed}).guessed;
  const double bound = 5 * static_cast<double>(k) / 2 / std::sqrt(static_cast<double>(g.checks));
  RC_ASSERT(std::abs(g.mean_length() - expected_length(a, k)) <= bound);
}

TEST(Speculative, RightGuessesSaveStepsAndWrongOnesNone) {
  for (std::int64_t k = 1; k <= 5; ++k) {
    // The first token comes with the prompt.
    EXPECT_EQ(answer_alone(101, {k, 0, 1, 1}).steps, 1 + ceil_div(std::int64_t{100}, k + 1));
    EXPECT_EQ(answer_alone(101, {k, 0, 0, 1}).steps, 101);
  }
  EXPECT_EQ(answer_alone(101, {}).steps, 101);
}

// Room for one more than the longest request and its guesses, so that there is preemption too.
RC_GTEST_PROP(Speculative, TheSchedulerKeepsBudgetAndBlocks, ()) {
  Case c = drawn_case();
  c.kept.states = 0;
  Guesses g;
  g.tokens = *rc::gen::inRange(1, 6), g.lookahead = *rc::gen::element<std::int64_t>(0, g.tokens);
  g.acceptance = *rc::gen::inRange(0, 11) / 10.0;
  c.blocks = c.kept.most_blocks(42 + g.tokens + g.lookahead, c.limits.max_tokens + g.tokens,
                                c.limits.block_size) +
             *rc::gen::inRange(0, 10);
  const auto in_flight = static_cast<std::size_t>(*rc::gen::inRange(1, 4));
  Engine engine(c.limits, c.blocks, c.requests, c.kept, g);
  run(c, in_flight, engine, [&](const Batch& batch) {
    std::int64_t tokens = 0;
    for (const Scheduled& s : batch.sequences) {
      tokens += s.tokens;
      RC_ASSERT(s.guesses < s.tokens);
      RC_ASSERT(s.guesses <= g.tokens);
    }
    RC_ASSERT(tokens <= c.limits.max_tokens);
    RC_ASSERT(engine.free_blocks() >= 0);
  });
  RC_ASSERT(engine.free_blocks() == c.blocks);
  RC_ASSERT(engine.outstanding() == 0U);
}

// Steps of 3 ms for 1 + 4 n tokens of which the first comes with the prompt.
TEST(Speculative, TheTimePerTokenIsThatOfAStepOverItsTokens) {
  const std::vector<Request> requests = {{0, 10, 41, 0}};
  ServerOptions o;
  o.blocks = 1000, o.limits.step_overhead = Seconds();
  o.guesses = {3, 3, 1, 1};
  Load load;
  load.arrivals = Arrivals::kClosed, load.concurrency = 1;
  const StepTime step{{3 * kMs}, {}, {}};
  const Service s =
      serve(requests, load, o, [&](const Step&, std::size_t) -> const StepTime& { return step; });
  EXPECT_EQ(s.requests[0].finish, 11 * 3 * kMs);
  EXPECT_EQ(s.gaps, std::vector<SimTime>(10, 3 * kMs));
  EXPECT_NEAR(summarize(s, requests, {}, 1, 1).all.per_token.mean.value, 3e-3 / 4, 1e-12);
  EXPECT_EQ(s.guessed.checks, 10);
  EXPECT_EQ(s.guessed.accepted, 30);
}

// ---- What a step costs ----

Step checking(std::int64_t sequences, std::int64_t guesses, std::int64_t context) {
  return {{}, {sequences, guesses + 1, context}, sequences * (guesses + 1)};
}

TEST(CheckingSteps, AreSoundPlansWithTheWorkOfAllTheirTokens) {
  for (const char* model : {"llama-3.1-8b", "deepseek-v2-lite"}) {
    const ServedModel s = served({.tp = 2, .model = model});
    const Plan plan = make_serving_plan(s.model, checking(8, 3, 700), s.precision, s.layout, 1);
    EXPECT_TRUE(validate(plan).empty()) << model;
  }
  const ServedModel s = served();
  const auto flops = [&](std::int64_t guesses) {
    return make_serving_plan(s.model, checking(8, guesses, 700), s.precision, s.layout, 1)
        .model_flops.value;
  };
  for (std::int64_t k = 1; k <= 7; ++k) {
    EXPECT_NEAR(flops(k) / flops(0), static_cast<double>(k + 1), 1e-9);
  }
}

// Bound by memory, weights and keys are read once for all tokens of a sequence.
TEST(CheckingSteps, OfFewSequencesTakeLittleMoreThanATokenEach) {
  const ServedModel s = served();
  const SimTime one = time_step(s, checking(4, 0, 4096)).total();
  const SimTime four = time_step(s, checking(4, 3, 4096)).total();
  EXPECT_GE(four, one);
  EXPECT_LT(static_cast<double>(four), 1.15 * static_cast<double>(one));
}

TEST(Drafter, RunsOverTheStepAndThenOnceForEachFurtherGuess) {
  const ServedModel s = served();
  const Drafter d = *drafter_of(s, {Drafting::kEagle, 3, 0.7, ""});
  const Step step = checking(8, 3, 512);
  Step first = step;
  first.sampled = 8;
  const SimTime pass = time_step(d.model, decode(8, 512)).total();
  const SimTime rest = time_step(s, step).total() + time_step(d.model, first).total();
  for (const std::int64_t k : {1, 2, 3}) {
    DraftedCosts costs(s, d, k);
    EXPECT_EQ(costs(step).total(), rest + (k - 1) * pass);
  }
  EXPECT_LT(10 * time_step(d.model, first).total(), 3 * time_step(s, step).total());
}

// EAGLE and MTP share embedding and head with the model and have one layer; a model has all of its.
TEST(Drafter, TakesRoomOfTheCache) {
  const ServedModel s = served();
  const Drafter eagle = *drafter_of(s, {Drafting::kEagle, 3, 0.7, ""});
  const ParameterCount p = count_parameters(s.model);
  EXPECT_EQ(eagle.weights.value, 2 * p.layer);
  EXPECT_EQ(eagle.bytes_per_token, kv_bytes_per_token(s.model, s.precision, 1));
  const Drafter small = *drafter_of(s, {Drafting::kDraftModel, 3, 0.7, "llama-3.1-8b"});
  const Model& m = small.model.model;
  EXPECT_EQ(small.weights.value, 2 * count_parameters(m).total(m));
  EngineLimits limits;
  limits.max_context = 4096;
  const CacheCapacity alone = cache_capacity(s, limits, {});
  const CacheCapacity beside = cache_capacity(s, limits, {}, small);
  const std::int64_t cache = alone.stages[0].cache.value - small.weights.value;
  const std::int64_t block = 16 * (alone.stages[0].bytes_per_token + small.bytes_per_token).value;
  EXPECT_EQ(beside.tokens, cache / block * 16);
  EXPECT_FALSE(drafter_of(s, {Drafting::kNgram, 3, 0.7, ""}));
  EXPECT_FALSE(drafter_of(s, {}));
}

// ---- What is refused ----

std::string refused(const std::string& preset, const Speculation& speculation, std::int64_t pp = 1,
                    std::int64_t modules = 0) {
  Model model = *find_preset(preset);
  model.mtp_layers = modules;
  Serving serving;
  serving.speculation = speculation;
  Mesh mesh;
  mesh[Axis::kPp] = pp;
  try {
    require_described(model, serving, mesh);
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Speculative, WhatIsNotDescribedIsRefused) {
  EXPECT_EQ(refused("llama-3.1-8b", {Drafting::kNgram, 3, 0.5, ""}, 2), "");
  EXPECT_EQ(refused("llama-3.1-8b", {Drafting::kEagle, 3, 0.5, ""}, 2), "S182");
  EXPECT_EQ(refused("llama-3.1-8b", {Drafting::kMtp, 3, 0.5, ""}), "S181");
  EXPECT_EQ(refused("deepseek-v3", {Drafting::kMtp, 1, 0.5, ""}), "S181");  // left out of presets
  EXPECT_EQ(refused("deepseek-v3", {Drafting::kMtp, 1, 0.5, ""}, 1, 1), "");
  EXPECT_EQ(refused("llama-3.1-70b", {Drafting::kDraftModel, 3, 0.5, "llama-3.1-8b"}), "");
  EXPECT_EQ(refused("llama-3.1-70b", {Drafting::kDraftModel, 3, 0.5, ""}), "S181");
  EXPECT_EQ(refused("llama-3.1-70b", {Drafting::kDraftModel, 3, 0.5, "llama-2-7b"}), "S181");
  EXPECT_EQ(refused("llama-3.1-70b", {Drafting::kDraftModel, 3, 0.5, "nothing"}), "S181");
  EXPECT_EQ(refused("llama-3.1-70b", {Drafting::kNgram, 3, 0.5, "llama-3.1-8b"}), "S181");
  EXPECT_EQ(refused("mistral-7b-v0.1", {Drafting::kEagle, 3, 0.5, ""}), "S182");
  EXPECT_EQ(refused("mistral-7b-v0.1", {Drafting::kNgram, 3, 0.5, ""}), "");
  EXPECT_EQ(refused("nemotron-h-8b", {Drafting::kNgram, 3, 0.5, ""}), "S182");
}

}  // namespace plait::speculative_test
