// The event loop with step times made up: what one request, a pipeline and several replicas take.
#include "serving/serve.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "serving/summary.h"

namespace plait::serve_test {

constexpr SimTime kMs = 1'000'000'000;

ServerOptions options(std::int64_t blocks = 1000) {
  ServerOptions o;
  o.blocks = blocks;
  o.limits.step_overhead = Seconds();
  return o;
}
Load all_at_once(std::int64_t users) {
  Load load;
  load.arrivals = Arrivals::kClosed, load.concurrency = users;
  return load;
}
/// A step takes `fixed` and as much more as it has tokens, on each of `stages`.
struct Priced {
  SimTime fixed, per_token;
  std::size_t stages = 1;
  StepTime last = {};
  const StepTime& operator()(const Step& step, std::size_t /*replica*/) {
    last = {};
    last.stage.assign(stages, fixed + step.tokens() * per_token);
    last.hop.assign(stages - 1, 0);
    return last;
  }
};

// A prompt of 100 and 5 tokens: 1 step of 100 tokens, then 4 steps of one.
TEST(Serve, OneRequestTakesAPromptStepAndAStepPerLaterToken) {
  const std::vector<Request> requests = {{0, 100, 5, 0}};
  const Service s = serve(requests, all_at_once(1), options(), Priced{3 * kMs, kMs});
  const SimTime prompt = 103 * kMs, token = 4 * kMs;
  EXPECT_EQ(s.requests[0].first_token, prompt);
  EXPECT_EQ(s.requests[0].finish, prompt + 4 * token);
  EXPECT_EQ(s.gaps, std::vector<SimTime>(4, token));
  EXPECT_EQ(s.makespan, prompt + 4 * token);
}

/// Of the error that a request of 100 and 5 tokens meets; empty: none.
InputError::Text refusal_with(const ServerOptions& o) {
  try {
    serve({{0, 100, 5, 0}}, all_at_once(1), o, Priced{kMs, kMs});
  } catch (const InputError& error) {
    return error.text();
  }
  return {};
}

// 104 tokens are in the cache when the last one is computed, and in one step where the sequence was
// preempted right before.
TEST(Serve, ARequestThatNeverFitsIsRefusedByWhatItDoesNotFitInto) {
  ServerOptions o = options(104 / 8);
  o.limits.block_size = 8, o.limits.max_tokens = 104, o.limits.chunked_prefill = false;
  EXPECT_EQ(refusal_with(o).code, "");
  o.limits.max_tokens = 103;
  EXPECT_EQ(refusal_with(o).code, "R003");
  EXPECT_NE(refusal_with(o).cure.find("serving.engine.chunked_prefill"), std::string::npos);
  o.limits.chunked_prefill = true;
  EXPECT_EQ(refusal_with(o).code, "");
  o.blocks -= 1;
  EXPECT_EQ(refusal_with(o).code, "R002");
}

TEST(Serve, AStepThatPassesMoreThanIsCountedIsRefused) {
  const StepTime step{.stage = {kLongestTime, kLongestTime}, .hop = {0}};
  EXPECT_THROW(step.total(), InputError);
}

// Four replicas of two stages that work for 40 days each: 320 days of devices.
TEST(Serve, ReplicasTogetherMayWorkForLongerThanIsCounted) {
  constexpr SimTime kDay = 24 * 3600 * kPicosecondsPerSecond;
  ServerOptions o = options();
  o.replicas = 4;
  const std::vector<Request> requests(4, Request{0, 10, 40, 0});
  const Service s = serve(requests, all_at_once(4), o, Priced{kDay, 0, 2});
  EXPECT_EQ(s.makespan, 80 * kDay);
  EXPECT_EQ(to_seconds(s.busy[0]), to_seconds(kDay) * 160);
  EXPECT_EQ(to_seconds(s.decode.time) + to_seconds(s.prefill.time), to_seconds(kDay) * 320);
}

TEST(Serve, TheHostsPartComesOnTopOfEachStep) {
  const std::vector<Request> requests = {{0, 10, 3, 0}};
  ServerOptions o = options();
  o.limits.step_overhead = Seconds(1e-3), o.limits.sequence_overhead = Seconds(0.5e-3);
  const Service s = serve(requests, all_at_once(1), o, Priced{2 * kMs, 0});
  EXPECT_EQ(s.makespan, 3 * (2 * kMs + kMs + kMs / 2));
}

// Prepared beside the step before, the host's part is seen once, or as far as it takes longer than
// the device.
TEST(Serve, AsyncSchedulingHidesTheHostBehindTheDevice) {
  const std::vector<Request> requests = {{0, 10, 3, 0}};
  ServerOptions o = options();
  o.limits.async_scheduling = true;
  o.limits.step_overhead = Seconds(1.5e-3);
  EXPECT_EQ(serve(requests, all_at_once(1), o, Priced{2 * kMs, 0}).makespan,
            kMs + kMs / 2 + 3 * 2 * kMs);
  o.limits.step_overhead = Seconds(3e-3);
  EXPECT_EQ(serve(requests, all_at_once(1), o, Priced{2 * kMs, 0}).makespan, 3 * 3 * kMs + 2 * kMs);
}

// Two sequences that began 2 ms apart take turns on two stages of 2 ms. A token of either takes
// both stages and the host's part, 5 ms; prepared while the other's is at work, 4 ms.
TEST(Serve, AsyncSchedulingHidesTheHostBehindPipelineStages) {
  const std::vector<Request> requests(2, Request{0, 10, 10, 0});
  Load load = all_at_once(2);
  load.ramp = Seconds(2e-3);
  ServerOptions o = options();
  o.batches_in_flight = 2, o.limits.step_overhead = Seconds(1e-3);
  EXPECT_EQ(serve(requests, load, o, Priced{2 * kMs, 0, 2}).makespan, (7 + 9 * 5) * kMs);
  o.limits.async_scheduling = true;
  EXPECT_EQ(serve(requests, load, o, Priced{2 * kMs, 0, 2}).makespan, (7 + 9 * 4) * kMs);
}

TEST(Serve, UsersBeginOneAfterTheOther) {
  const std::vector<Request> requests(3, Request{0, 1, 1, 0});
  Load load = all_at_once(3);
  load.ramp = Seconds(5e-3);
  const Service s = serve(requests, load, options(), Priced{2 * kMs, 0});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.requests[i].arrival, static_cast<SimTime>(i) * 5 * kMs);
    EXPECT_EQ(s.requests[i].finish, s.requests[i].arrival + 2 * kMs);
  }
}

// n sequences that generate side by side take as long as one when steps cost the same: throughput
// is n times that of one.
TEST(Serve, ABatchSharesItsSteps) {
  const std::vector<Request> requests(8, Request{0, 16, 11, 0});
  const Service s = serve(requests, all_at_once(8), options(), Priced{kMs, 0});
  EXPECT_EQ(s.makespan, 11 * kMs);
  const ServiceSummary sum = summarize(s, requests, {}, 1, 1);
  EXPECT_NEAR(sum.output_tokens_per_s, 8 * 11 / 11e-3, 1e-6);
  EXPECT_NEAR(sum.devices_busy, 1, 1e-12);
}

// Two stages and two batches on the way: each sequence's token takes two stage times, and the
// stages never idle once both run.
TEST(Serve, AsManyBatchesAsStagesKeepAllStagesBusy) {
  const std::vector<Request> requests(2, Request{0, 1, 100, 0});
  ServerOptions one = options(), two = options();
  one.limits.max_sequences = two.limits.max_sequences = 2;
  one.limits.max_tokens = two.limits.max_tokens = 1;  // a batch is one sequence
  two.batches_in_flight = 2;
  const Priced price{kMs, 0, 2};
  EXPECT_EQ(serve(requests, all_at_once(2), one, price).makespan, 2 * 100 * 2 * kMs);
  EXPECT_EQ(serve(requests, all_at_once(2), two, price).makespan, (100 * 2 + 1) * kMs);
}

TEST(Serve, ReplicasHalveTheTimeOfManyRequests) {
  const std::vector<Request> requests(8, Request{0, 4, 5, 0});
  ServerOptions o = options();
  o.limits.max_sequences = 1;
  const Priced price{kMs, 0};
  const SimTime alone = serve(requests, all_at_once(8), o, price).makespan;
  o.replicas = 2;
  EXPECT_EQ(serve(requests, all_at_once(8), o, price).makespan * 2, alone);
}

// Each of three has one for itself.
TEST(Serve, ReplicasBeyondTheRequestsChangeNothing) {
  const std::vector<Request> requests = {{0, 4, 5, 0}, {0, 7, 2, 0}, {0, 1, 9, 0}};
  ServerOptions o = options();
  o.replicas = 3;
  const Service few = serve(requests, all_at_once(3), o, Priced{kMs, kMs});
  o.replicas = 1'000'000'000;
  const Service many = serve(requests, all_at_once(3), o, Priced{kMs, kMs});
  EXPECT_EQ(many.gaps, few.gaps);
  EXPECT_EQ(many.makespan, few.makespan);
  EXPECT_EQ(many.busy, few.busy);
}

TEST(Serve, ClosedUsersAskWhenAnswered) {
  const std::vector<Request> requests(4, Request{0, 1, 2, 0});
  const Service s = serve(requests, all_at_once(1), options(), Priced{kMs, 0});
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(s.requests[i].arrival, s.requests[i - 1].finish);
  }
}

TEST(Serve, TheSameInputGivesTheSameOutput) {
  Load load;
  load.count = 200, load.rate_per_s = 50;
  load.kinds = {{"a", 1, 60, 20, 0.5}, {"b", 2, 9, 30, 0.5}};
  const std::vector<Request> requests = draw_requests(load);
  EXPECT_EQ(requests, draw_requests(load));
  const Priced price{kMs, kMs / 100};
  const Service a = serve(requests, load, options(40), price);
  const Service b = serve(requests, load, options(40), price);
  EXPECT_EQ(a.gaps, b.gaps);
  EXPECT_EQ(a.makespan, b.makespan);
}

TEST(Serve, ARequestThatNeverFitsIsRefused) {
  const std::vector<Request> requests = {{0, 100, 100, 0}};
  EXPECT_THROW(serve(requests, all_at_once(1), options(3), Priced{kMs, 0}), InputError);
}

// Gaps of a Poisson process have mean 1 / rate and a deviation as large: 10,000 of them are within
// 5 %.
TEST(Requests, ArriveAtTheirRateOnAverage) {
  Load load;
  load.count = 10'000, load.rate_per_s = 20;
  const std::vector<Request> r = draw_requests(load);
  EXPECT_NEAR(to_seconds(r.back().arrival).value, 10'000 / 20.0, 0.05 * 500);
}

TEST(Requests, LengthsStayWithinTheirSpread) {
  Load load;
  load.count = 1000, load.kinds = {{"a", 1, 100, 50, 0.2}};
  std::int64_t sum = 0;
  for (const Request& r : draw_requests(load)) {
    EXPECT_GE(r.prompt, 80);
    EXPECT_LE(r.prompt, 120);
    sum += r.prompt;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 1000, 100, 2);
}

// To the last digit: rounding would put the 95th percentile below the 90th.
TEST(Quantiles, OfTimesThatAreAlikeAreTheseTimes) {
  const SimTime alike = 50'367'656'884;  // picoseconds
  const Quantiles q = quantiles(std::vector<SimTime>(150, alike));
  for (const Seconds each : {q.p50, q.p90, q.p95, q.p99, q.most}) {
    EXPECT_EQ(each, to_seconds(alike));
  }
}

// numpy.percentile([1, 2, 3, 4], [50, 90, 95, 99]) = 2.5, 3.7, 3.85, 3.97
TEST(Quantiles, LieBetweenOrderStatistics) {
  const Quantiles q = quantiles({4 * kMs, kMs, 3 * kMs, 2 * kMs});
  EXPECT_NEAR(q.mean.value, 2.5e-3, 1e-12);
  EXPECT_NEAR(q.p50.value, 2.5e-3, 1e-12);
  EXPECT_NEAR(q.p90.value, 3.7e-3, 1e-12);
  EXPECT_NEAR(q.p95.value, 3.85e-3, 1e-12);
  EXPECT_NEAR(q.p99.value, 3.97e-3, 1e-12);
  EXPECT_NEAR(q.most.value, 4e-3, 1e-12);
}

// Three replicas, two users: prompts of 100 and 40 at once, then tokens of both.
TEST(SharedExperts, StepsHaveTheTokensOfAllReplicas) {
  ServerOptions o = options();
  o.replicas = 3, o.shares_experts = true;
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;  // here and elsewhere
  const auto price = [&, last = StepTime()](const Step& step, std::size_t) mutable -> StepTime& {
    seen.emplace_back(step.tokens(), step.tokens_elsewhere);
    last.stage = {kMs};
    return last;
  };
  serve({{0, 100, 2, 0}, {0, 40, 3, 0}}, all_at_once(2), o, price);
  ASSERT_EQ(seen.size(), 5);
  EXPECT_EQ(seen[0], std::pair(100L, 40L + 1));  // a token that nobody has asked for
  EXPECT_EQ(seen[1], std::pair(40L, 100L + 1));
  EXPECT_EQ(seen[2], std::pair(1L, 2L));
  EXPECT_EQ(seen[4], std::pair(1L, 2L));
  o.shares_experts = false, seen.clear();
  serve({{0, 100, 2, 0}}, all_at_once(1), o, price);
  EXPECT_EQ(seen[0].second, -1);
}

}  // namespace plait::serve_test
