// Whether a rate is held, by a machine whose capacity is known: so many lanes, each of which
// answers a request in ten seconds.
#include "serving/sustained.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace plait::sustained_test {

constexpr SimTime kTakes = 10'000'000'000'000;  // 10 s in picoseconds
constexpr std::int64_t kLanes = 8;
constexpr double kCapacity = kLanes / 10.0;  // requests a second

/// In the order of arrival. Prefill: all of the time is that to the first token.
Service queued(const std::vector<Request>& requests, bool prefill) {
  std::vector<SimTime> free(kLanes, 0);
  Service out;
  for (const Request& r : requests) {
    const auto lane = std::ranges::min_element(free);
    Served s;
    s.arrival = r.arrival;
    const SimTime begin = std::max(*lane, r.arrival);
    *lane = s.finish = begin + kTakes;
    s.first_token = prefill ? s.finish : begin;
    out.requests.push_back(s);
  }
  return out;
}

Load at(double rate, std::int64_t count) {
  Load load;
  load.rate_per_s = rate, load.count = count;
  return load;
}

Slo nothing_misses() {
  Slo slo;
  slo.e2el = Seconds(86400);
  return slo;
}

Sustained found(const Load& load, const Slo& slo = nothing_misses(), bool prefill = false) {
  return sustains(load, slo, kLanes, [&](const std::vector<Request>& requests, const Load&) {
    return queued(requests, prefill);
  });
}

// Whatever a request may take, and however few the scenario asks for.
TEST(Sustained, NoRateAboveTheCapacityIsHeld) {
  for (const bool prefill : {false, true}) {
    for (const double share : {1.05, 1.15, 1.4, 2.0, 3.0, 1000.0}) {
      for (const std::int64_t count : {1, 20, 1000}) {
        const Sustained s = found(at(share * kCapacity, count), nothing_misses(), prefill);
        EXPECT_FALSE(s.held) << share << " " << count;
        EXPECT_FALSE(s.undecided) << share << " " << count;
      }
    }
  }
}

TEST(Sustained, RatesBelowTheCapacityAre) {
  for (const bool prefill : {false, true}) {
    for (const double share : {0.01, 0.5, 0.8, 0.9}) {
      for (const std::int64_t count : {1, 20, 1000}) {
        EXPECT_TRUE(found(at(share * kCapacity, count), nothing_misses(), prefill).held) << share;
      }
    }
  }
}

// Five times ten seconds at 0.4 a second are 20 requests, where a scenario has two.
TEST(Sustained, ArrivalsLastFiveTimesWhatARequestTakes) {
  const Sustained s = found(at(0.5 * kCapacity, 2));
  EXPECT_TRUE(s.held);
  EXPECT_GE(static_cast<double>(s.count), 0.7 * kWindows * 10 * 0.5 * kCapacity);
}

TEST(Sustained, AMissedLimitNeedsNoMoreRequests) {
  Slo slo;
  slo.e2el = Seconds(1);
  const Sustained s = found(at(0.5 * kCapacity, 2), slo);
  EXPECT_FALSE(s.held);
  EXPECT_EQ(s.count, 2);
}

/// Of a machine with room for all.
Service at_once(const std::vector<Request>& requests, const Load&) {
  Service out;
  for (const Request& r : requests) {
    Served s;
    s.arrival = s.first_token = r.arrival, s.finish = r.arrival + kTakes;
    out.requests.push_back(s);
  }
  return out;
}

// Of 400 requests in 100 s those of the last 21 s wait: some 84 are unanswered at the end and 40 in
// the middle, where chance explains 3 sqrt(200) = 42 more. Of 800 none wait: a burst, and not a
// machine that is too slow.
TEST(Sustained, OneLoadThatEndsBehindIsTriedTwiceAsLong) {
  constexpr SimTime kLate = 21'000'000'000'000;  // 21 s in picoseconds
  const auto serve = [](const std::vector<Request>& requests, const Load& load) {
    Service out = at_once(requests, load);
    for (Served& s : out.requests) {
      const bool waits = requests.size() == 400 && s.arrival > requests.back().arrival - kLate;
      if (waits) s.finish = s.arrival + kLate;
    }
    return out;
  };
  const Sustained s = sustains(at(4, 400), nothing_misses(), 10'000, serve);
  EXPECT_TRUE(s.held);
  EXPECT_GE(s.count, 800);
}

// Requests that take longer than 1e5 arrivals last.
TEST(Sustained, WhatNoLoadLastsLongEnoughForIsSaid) {
  const Sustained s = sustains(at(1e5, 10'000), nothing_misses(), 10'000'000, at_once);
  EXPECT_FALSE(s.held);
  EXPECT_TRUE(s.undecided);
  EXPECT_EQ(s.count, kMostRequests);
}

// Each counts for 32 tokens more than its answer has.
TEST(Sustained, OfLongAnswersFewerAreTriedAndTheirNumberIsSaid) {
  Load load = at(1e5, 10'000);
  load.kinds = {{.prompt_tokens = 1, .output_tokens = 10'000}};
  const Sustained s = sustains(load, nothing_misses(), 10'000'000, at_once);
  EXPECT_TRUE(s.undecided);
  EXPECT_EQ(s.count, kMostAnswered / 10'032);
}

}  // namespace plait::sustained_test
