// Prefill and decode on pools of their own, with step times made up: against the engine that does
// both, and what may never happen.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serving/kv_transfer.h"
#include "serving/serve.h"
#include "tests/serving/drawn_case.h"

namespace plait::disaggregated_test {

constexpr SimTime kMs = 1'000'000'000;

/// A step takes 3 ms and 1 ms for each token.
struct Priced {
  StepTime last = {};
  const StepTime& operator()(const Step& step, std::size_t /*replica*/) {
    last = {};
    last.stage = {3 * kMs + step.tokens() * kMs};
    return last;
  }
};

/// From each of `from` instances to each of `to`, over a port of each end; a token holds a port for
/// `per_token`.
KvRoutes routes(std::int64_t from, std::int64_t to, Seconds per_token = {}, SimTime start = 0) {
  KvRoutes out;
  out.ports = static_cast<std::size_t>(from + to);
  out.bytes_per_token = Bytes(1);
  for (std::int64_t i = 0; i < from; ++i) {
    out.routes.emplace_back();
    for (std::int64_t j = 0; j < to; ++j) {
      out.routes.back().push_back({start,
                                   {{static_cast<std::size_t>(i), per_token},
                                    {static_cast<std::size_t>(from + j), per_token}}});
    }
  }
  return out;
}

ServerOptions options(std::int64_t replicas = 1, std::int64_t blocks = 1000) {
  ServerOptions o;
  o.blocks = blocks, o.replicas = replicas;
  o.limits.step_overhead = Seconds(1e-3);
  return o;
}
Load all_at_once() {
  Load load;
  load.arrivals = Arrivals::kClosed, load.concurrency = 1000;
  return load;
}

Service apart(const std::vector<Request>& requests, const ServerOptions& prefill,
              const ServerOptions& decode, const KvRoutes& ways,
              FirstToken first = FirstToken::kPrefill, const Load& load = all_at_once()) {
  const StepPrice of_prefill = Priced{}, of_decode = Priced{};
  return serve(requests, load, {prefill, decode, of_prefill, of_decode, ways, first});
}

// With nothing to wait for one request takes the same steps at the same times on two pools as on
// one: TTFT, every gap and the end are equal to the picosecond, however prompts are cut.
RC_GTEST_PROP(Disaggregated, WithoutTransferTimeOneRequestIsServedAsByOnePool, ()) {
  const std::vector<Request> requests = {
      {0, *rc::gen::inRange(1, 200), *rc::gen::inRange(1, 20), 0}};
  ServerOptions o = options();
  o.limits.max_tokens = *rc::gen::inRange(1, 64);
  const Service one = serve(requests, all_at_once(), o, Priced{});
  const Service two = apart(requests, o, o, routes(1, 1));
  RC_ASSERT(two.requests[0].first_token == one.requests[0].first_token);
  RC_ASSERT(two.gaps == one.gaps);
  RC_ASSERT(two.makespan == one.makespan);
}

// A prompt of 100 (1 + 3 + 100 ms), 100 tokens of 0.1 ms, then steps of 1 + 3 + 1 ms.
TEST(Disaggregated, TheTransferStandsBetweenTheFirstTokenAndTheSecond) {
  const std::vector<Request> requests = {{0, 100, 3, 0}};
  const KvRoutes ways = routes(1, 1, Seconds(0.1e-3), 2 * kMs);
  const Service s = apart(requests, options(), options(), ways);
  EXPECT_EQ(s.requests[0].first_token, 104 * kMs);
  EXPECT_EQ(s.handovers[0].received - s.handovers[0].asked, 12 * kMs);
  EXPECT_EQ(s.gaps, (std::vector<SimTime>{12 * kMs + 5 * kMs, 5 * kMs}));
  // vLLM's connector: the decode instance computes the last token again, whose answer comes then.
  const Service v = apart(requests, options(), options(), ways, FirstToken::kDecode);
  EXPECT_EQ(v.requests[0].first_token, (104 + 12 + 5) * kMs);
  EXPECT_EQ(v.gaps, (std::vector<SimTime>{5 * kMs, 5 * kMs}));
}

TEST(Disaggregated, AnAnswerOfOneTokenIsNotSent) {
  const Service s = apart({{0, 100, 1, 0}}, options(), options(), routes(1, 1, Seconds(1)));
  EXPECT_EQ(s.requests[0].finish, 104 * kMs);
  EXPECT_EQ(s.handovers[0].tokens, 0);
}

// On one pool the prompt of 500 stands between two tokens of the first request; apart no gap behind
// the transfer is longer than a step of both.
TEST(Disaggregated, PromptsOfOthersDoNotDelayTokens) {
  const std::vector<Request> requests = {{0, 10, 200, 0}, {100 * kMs, 500, 5, 0}};
  Load load;
  load.arrivals = Arrivals::kTrace;
  const Service one = serve(requests, load, options(), Priced{});
  const Service two =
      apart(requests, options(), options(), routes(1, 1), FirstToken::kPrefill, load);
  const SimTime both = (1 + 3 + 2) * kMs;
  EXPECT_GE(*std::ranges::max_element(one.gaps), 500 * kMs);
  // The second's first gap waits for the step that is under way.
  EXPECT_LE(*std::ranges::max_element(two.gaps), both + (1 + 3 + 1) * kMs);
}

// Two prefill instances send to one decode instance: its port takes one after the other.
TEST(Disaggregated, TransfersOverAPortTakeTurns) {
  const std::vector<Request> requests(2, Request{0, 10, 2, 0});
  const Service s = apart(requests, options(2), options(), routes(2, 1, Seconds(1e-3)));
  EXPECT_EQ(s.handovers[0].received - s.handovers[0].asked, 10 * kMs);
  EXPECT_EQ(s.handovers[1].received - s.handovers[1].asked, 20 * kMs);
  const Service wide = apart(requests, options(2), options(2), routes(2, 2, Seconds(1e-3)));
  for (const Handover& h : wide.handovers) EXPECT_EQ(h.received - h.asked, 10 * kMs);
}

// A cache of 12 blocks of 1 token, of which a request takes 7 and in the end 8: the second is
// fetched when the first is over, and its blocks stay where it was computed.
TEST(Disaggregated, WhatHasNoRoomWaitsWhereItIs) {
  const std::vector<Request> requests(2, Request{0, 6, 3, 0});
  ServerOptions decode = options(1, 12);
  decode.limits.block_size = 1;
  const Service s = apart(requests, options(), decode, routes(1, 1));
  EXPECT_EQ(s.handovers[0].prefilled, s.handovers[1].prefilled);
  EXPECT_EQ(s.handovers[1].asked, s.requests[0].finish);
  ServerOptions prefill = options(1, 12);
  prefill.limits.block_size = 1;
  // Two prompts fill the cache of prefill: the next two begin as these are sent.
  const std::vector<Request> four(4, Request{0, 6, 3, 0});
  const Service t = apart(four, prefill, decode, routes(1, 1));
  EXPECT_EQ(t.handovers[1].received, t.requests[0].finish);
  EXPECT_EQ(t.handovers[2].begun, t.handovers[0].received);
  EXPECT_EQ(t.handovers[3].begun, t.handovers[1].received);
}

/// As the scheduler's own tests draw them, for two pools.
struct DrawnPools {
  ServerOptions prefill, decode;
  std::vector<Request> requests;
  KvRoutes ways;
  FirstToken first = FirstToken::kPrefill;
};
DrawnPools drawn_pools() {
  engine_test::Case c = engine_test::drawn_case();
  while (c.kept.differ()) c = engine_test::drawn_case();
  DrawnPools out;
  for (ServerOptions* o : {&out.prefill, &out.decode}) {
    o->limits = c.limits, o->blocks = c.blocks;
    o->limits.step_overhead = {};
    o->limits.max_sequences = *rc::gen::inRange(1, 8);
    o->replicas = *rc::gen::inRange(1, 4);
    o->batches_in_flight = *rc::gen::inRange(1, 3);
  }
  out.decode.limits.prefix_caching = *rc::gen::arbitrary<bool>();
  out.requests = c.requests;
  out.ways = routes(out.prefill.replicas, out.decode.replicas,
                    Seconds(*rc::gen::inRange(0, 5) * 1e-3), *rc::gen::inRange(0, 3) * kMs);
  out.first = *rc::gen::element(FirstToken::kPrefill, FirstToken::kDecode);
  return out;
}

// Each request is answered, each token once; what is sent is the prompt but for what the other
// cache has; nothing is sent before it is there, and ports carry no more than they can.
RC_GTEST_PROP(Disaggregated, ConservesRequestsTokensAndPorts, ()) {
  const DrawnPools p = drawn_pools();
  const Service s = apart(p.requests, p.prefill, p.decode, p.ways, p.first);
  std::int64_t answers = 0, sampled = 0, sent = 0;
  SimTime busiest = 0;
  for (std::size_t i = 0; i < p.requests.size(); ++i) {
    const Request& r = p.requests[i];
    const Handover& h = s.handovers[i];
    answers += r.output, sampled += 1;
    const bool goes = r.output > 1 || p.first == FirstToken::kDecode;
    RC_ASSERT((h.resumed >= 0) == goes);
    RC_ASSERT(h.tokens >= 0 && h.tokens <= r.prompt);
    if (!goes) continue;
    if (!p.decode.limits.prefix_caching) RC_ASSERT(h.tokens == r.prompt);
    RC_ASSERT(s.requests[i].arrival <= h.begun && h.begun < h.prefilled);
    RC_ASSERT(h.prefilled <= h.asked && h.asked <= h.received);
    RC_ASSERT(h.received <= h.resumed && h.resumed < s.requests[i].finish);
    sent += h.tokens;
    busiest = std::max(busiest, h.received);
  }
  RC_ASSERT(static_cast<std::int64_t>(s.gaps.size()) == answers - sampled);
  const Seconds each = p.ways.routes[0][0].loads[0].per_token;
  RC_ASSERT(to_seconds(busiest).value * static_cast<double>(p.decode.replicas) + 1e-9 >=
            each.value * static_cast<double>(sent));
}

// Without preemption a decode pool computes no prompts, and each token of the answers but the first
// once.
RC_GTEST_PROP(Disaggregated, DecodeComputesEachTokenOnce, ()) {
  DrawnPools p = drawn_pools();
  p.prefill.limits.prefix_caching = p.decode.limits.prefix_caching = false;
  const Service s = apart(p.requests, p.prefill, p.decode, p.ways, p.first);
  std::int64_t answers = 0, preemptions = 0;
  for (std::size_t i = 0; i < p.requests.size(); ++i) {
    answers += p.requests[i].output - (p.first == FirstToken::kPrefill ? 1 : 0);
    preemptions += s.requests[i].preemptions;
  }
  if (preemptions > 0) return;
  RC_ASSERT(s.decode.sequences == answers);
  RC_ASSERT(s.prefill.steps == 0);
}

// One request after another: ports that are twice as fast delay nobody.
RC_GTEST_PROP(Disaggregated, FasterPortsAreNeverSlowerForOneUser, ()) {
  DrawnPools p = drawn_pools();
  Load alone = all_at_once();
  alone.concurrency = 1;
  const Service slow = apart(p.requests, p.prefill, p.decode, p.ways, p.first, alone);
  for (auto& from : p.ways.routes) {
    for (KvRoute& way : from) {
      for (KvRoute::Load& l : way.loads) l.per_token = l.per_token * 0.5;
    }
  }
  const Service fast = apart(p.requests, p.prefill, p.decode, p.ways, p.first, alone);
  for (std::size_t i = 0; i < p.requests.size(); ++i) {
    const auto taken = [i](const Service& s) {
      return s.requests[i].finish - s.requests[i].arrival;
    };
    RC_ASSERT(taken(fast) <= taken(slow));
  }
}

TEST(Disaggregated, TheSameInputGivesTheSameOutput) {
  Load load;
  load.count = 200, load.rate_per_s = 20;
  load.kinds = {{"a", 1, 60, 20, 0.5}, {"b", 2, 9, 30, 0.5}};
  const std::vector<Request> requests = draw_requests(load);
  const auto run = [&] {
    return apart(requests, options(2, 40), options(2, 30), routes(2, 2, Seconds(1e-5)),
                 FirstToken::kPrefill, load);
  };
  const Service a = run(), b = run();
  EXPECT_EQ(a.gaps, b.gaps);
  EXPECT_EQ(a.makespan, b.makespan);
}

}  // namespace plait::disaggregated_test
