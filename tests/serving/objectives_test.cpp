// Which requests keep their limits, by vLLM's rule, and what that comes to a second.
#include "serving/objectives.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serving/summary.h"

namespace plait::objectives_test {

constexpr SimTime kMs = 1'000'000'000;

/// Came at 10 ms.
Served answered(SimTime first_token, SimTime finish) {
  Served s;
  s.arrival = 10 * kMs, s.first_token = s.arrival + first_token, s.finish = s.arrival + finish;
  return s;
}
Slo limits(double ttft_ms, double tpot_ms, double e2el_ms) {
  Slo out;
  out.ttft = Seconds(ttft_ms * 1e-3), out.tpot = Seconds(tpot_ms * 1e-3);
  out.e2el = Seconds(e2el_ms * 1e-3);
  return out;
}

// 11 tokens, the first after 100 ms and ten more in 200: 20 ms each.
TEST(Objectives, EachLimitIsOfItsOwnLatency) {
  const Latency l = latency_of({0, 50, 11, 0}, answered(100 * kMs, 300 * kMs));
  EXPECT_EQ(l.first_token, 100 * kMs);
  EXPECT_EQ(l.per_token, 20 * kMs);
  EXPECT_EQ(l.end_to_end, 300 * kMs);
  EXPECT_TRUE(kept_by(l, limits(100, 20, 300)).all());  // a limit may be used up
  const Kept first = kept_by(l, limits(99, 20, 300)), each = kept_by(l, limits(100, 19, 300)),
             whole = kept_by(l, limits(100, 20, 299));
  EXPECT_TRUE(!first.ttft && first.tpot && first.e2el);
  EXPECT_TRUE(each.ttft && !each.tpot && each.e2el);
  EXPECT_TRUE(whole.ttft && whole.tpot && !whole.e2el);
}

TEST(Objectives, WhatIsNotStatedIsNotMissed) {
  EXPECT_TRUE(kept_by({1000 * kMs, 1000 * kMs, 5000 * kMs}, limits(0, 0, 0)).all());
}

TEST(Objectives, ASingleTokenHasNoTimePerToken) {
  const Latency l = latency_of({0, 50, 1, 0}, answered(100 * kMs, 100 * kMs));
  EXPECT_TRUE(kept_by(l, limits(0, 1e-3, 0)).all());
}

// Four requests in 2 s on 4 devices, of which one is late and one is slow: 2 good ones, 1 a second.
TEST(Objectives, GoodputIsOfGoodRequests) {
  const std::vector<Request> requests(4, Request{0, 10, 11, 0});
  Service service;
  service.requests = {answered(100 * kMs, 300 * kMs), answered(400 * kMs, 500 * kMs),
                      answered(100 * kMs, 900 * kMs), answered(50 * kMs, 250 * kMs)};
  service.makespan = 2000 * kMs;
  Slo slo = limits(200, 30, 0);
  const ServiceSummary s = summarize(service, requests, {}, 4, 1, slo);
  EXPECT_EQ(s.all.attainment.good, 2);
  EXPECT_EQ(s.all.attainment.missed_ttft, 1);
  EXPECT_EQ(s.all.attainment.missed_tpot, 1);
  EXPECT_NEAR(s.goodput_per_s, 1, 1e-12);
  EXPECT_NEAR(s.goodput_per_s_per_device, 0.25, 1e-12);
  slo.attainment = 0.5;
  EXPECT_TRUE(s.all.attainment.reaches(slo));
  slo.attainment = 0.51;
  EXPECT_FALSE(s.all.attainment.reaches(slo));
}

// 90 % of ten and 99 % of a hundred are reached by just so many, whatever a double makes of them.
TEST(Objectives, AShareIsReachedExactly) {
  for (std::int64_t n = 1; n <= 1000; ++n) {
    for (const std::int64_t percent : {90, 95, 99, 100}) {
      if (n * percent % 100 != 0) continue;
      Slo slo;
      slo.attainment = static_cast<double>(percent) / 100;
      Attainment a;
      a.requests = n, a.good = n * percent / 100;
      EXPECT_TRUE(a.reaches(slo)) << n << " " << percent;
      --a.good;
      EXPECT_FALSE(a.reaches(slo)) << n << " " << percent;
    }
  }
}

// Wider limits lose nobody.
RC_GTEST_PROP(Objectives, WiderLimitsKeepEveryGoodRequest, ()) {
  const Latency l = {*rc::gen::inRange<SimTime>(1, 100) * kMs,
                     *rc::gen::inRange<SimTime>(0, 100) * kMs,
                     *rc::gen::inRange<SimTime>(1, 100) * kMs};
  const auto drawn = [] { return *rc::gen::inRange(1, 100); };
  const int ttft = drawn(), tpot = drawn(), e2el = drawn();
  const bool good = kept_by(l, limits(ttft, tpot, e2el)).all();
  const bool wider = kept_by(l, limits(ttft + drawn(), tpot + drawn(), e2el + drawn())).all();
  RC_ASSERT(!good || wider);
}

}  // namespace plait::objectives_test
