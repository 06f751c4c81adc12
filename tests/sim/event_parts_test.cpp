// Cores, links and threads by themselves, against what can be worked out by hand.
#include <gtest/gtest.h>

#include "sim/event/cores.h"
#include "sim/event/links.h"
#include "sim/event/machine.h"

namespace plait::event_parts_test {

constexpr SimTime kMs = 1'000'000'000;  // picoseconds
constexpr double kRoundingMs = 1e-8;    // ms: some picoseconds
double in_ms(SimTime t) { return static_cast<double>(t) / 1e9; }

/// Runs until nothing goes on; when each thread or flow ended.
template <class Shared>
std::vector<SimTime> run(Shared& shared, std::size_t n) {
  std::vector<SimTime> end(n, -1);
  for (SimTime t = shared.next(); t != kNever; t = shared.next()) {
    std::vector<std::uint32_t> ended;
    shared.advance(t, ended);
    for (std::uint32_t i : ended) end[i] = t;
  }
  return end;
}

TEST(Cores, ThreadsWithACoreEachTakeTheirOwnTime) {
  Cores cores(3);
  for (std::uint32_t i = 0; i < 3; ++i) cores.start(0, i, (i + 1) * kMs);
  EXPECT_EQ(run(cores, 3), (std::vector<SimTime>{kMs, 2 * kMs, 3 * kMs}));
}

// Three equal threads on two cores: 3 w of work at 2 per second.
TEST(Cores, EqualThreadsTakeThreadsOverCoresAsLong) {
  Cores cores(2);
  for (std::uint32_t i = 0; i < 3; ++i) cores.start(0, i, 2 * kMs);
  EXPECT_EQ(run(cores, 3), (std::vector<SimTime>(3, 3 * kMs)));
}

// Works 1 and 3 on one core: both at 1/2 until 2, then the second alone for its last 2.
TEST(Cores, TheRestGoesFasterWhenOneHasEnded) {
  Cores cores(1);
  cores.start(0, 0, 1 * kMs);
  cores.start(0, 1, 3 * kMs);
  EXPECT_EQ(run(cores, 2), (std::vector<SimTime>{2 * kMs, 4 * kMs}));
}

TEST(Cores, HalfACoreIsHalfAsFast) {
  Cores cores(0.5);
  cores.start(0, 0, kMs);
  EXPECT_EQ(run(cores, 1)[0], 2 * kMs);
}

// Whatever went on before, a thread that never shares ends to the picosecond.
TEST(Cores, AloneIsExactAfterSharing) {
  Cores cores(1);
  for (std::uint32_t i = 0; i < 3; ++i) cores.start(0, i, 333'333'333'331);
  const std::vector<SimTime> shared = run(cores, 3);
  cores.start(shared[2], 0, 7'777'777'777'777);
  EXPECT_EQ(run(cores, 1)[0], shared[2] + 7'777'777'777'777);
}

SharedLink plain(double bytes_per_ms) {
  const BytesPerSecond rate(1000 * bytes_per_ms);
  return {.rate = rate, .peak = rate, .burst = Bytes(0)};
}

// Links 0 and 1 are ways out, 2 and 3 ways in; 1000 bytes per millisecond each.
std::vector<SharedLink> four() { return std::vector<SharedLink>(4, plain(1000)); }

TEST(Links, AFlowAloneGoesAtTheLinksRate) {
  SharedLinks links(four());
  links.start(0, 0, {0, 2}, {1, 0}, Bytes(5000));
  EXPECT_EQ(run(links, 1)[0], 5 * kMs);
}

TEST(Links, TwoFlowsOverOneLinkTakeTwiceAsLong) {
  SharedLinks links(four());
  links.start(0, 0, {0, 2}, {1, 0}, Bytes(5000));
  links.start(0, 1, {0, 3}, {1, 0}, Bytes(5000));
  EXPECT_EQ(run(links, 2), (std::vector<SimTime>{10 * kMs, 10 * kMs}));
}

// Host 0's way out and in are links 0 and 2, host 1's 1 and 3. A quarter byte comes back for each.
TEST(Links, AcknowledgementsTakeTheirShareOfTheWayBack) {
  std::vector<SharedLink> links = four();
  for (SharedLink& l : links) l.acknowledged = 0.25;
  SharedLinks one_way(links), both_ways(links);
  one_way.start(0, 0, {0, 3}, {1, 2}, Bytes(5000));
  EXPECT_EQ(run(one_way, 1)[0], 5 * kMs);
  both_ways.start(0, 0, {0, 3}, {1, 2}, Bytes(5000));
  both_ways.start(0, 1, {1, 2}, {0, 3}, Bytes(5000));
  // Each link carries x + x / 4 = 1000.
  for (SimTime end : run(both_ways, 2)) EXPECT_NEAR(in_ms(end), 5 * 1.25, kRoundingMs);
}

// Flows 0 and 1 leave by link 0, flow 2 by link 1; 1 and 2 enter by link 3, which passes 600. There
// 1 and 2 get 300 each, and 0 what 1 leaves of link 0: 700 (not 500, the share of an equal split).
TEST(Links, RatesAreMaxMinFair) {
  std::vector<SharedLink> links = four();
  links[3] = plain(600);
  SharedLinks shared(links);
  shared.start(0, 0, {0, 2}, {1, 0}, Bytes(7000));
  shared.start(0, 1, {0, 3}, {1, 0}, Bytes(3000));
  shared.start(0, 2, {1, 3}, {1, 0}, Bytes(3000));
  for (SimTime end : run(shared, 3)) EXPECT_NEAR(in_ms(end), 10, kRoundingMs);
}

// 6000 and 2000 bytes at 500 each until 4 ms; the last 4000 bytes of the first at 1000.
TEST(Links, AFlowThatEndsLeavesItsShare) {
  SharedLinks links(four());
  links.start(0, 0, {0, 2}, {1, 0}, Bytes(6000));
  links.start(0, 1, {0, 3}, {1, 0}, Bytes(2000));
  EXPECT_EQ(run(links, 2), (std::vector<SimTime>{8 * kMs, 4 * kMs}));
}

// 10,000 bytes of burst at 1000 per ms, 5000 per ms with tokens: these last B / (peak - rate) = 2.5
// ms, in which 12,500 bytes pass.
SharedLink bucket() { return {BytesPerSecond(1e6), BytesPerSecond(5e6), Bytes(10'000)}; }

TEST(TokenBucket, LetsTheBurstPassAtThePeak) {
  SharedLinks links({bucket(), plain(1e6)});
  links.start(0, 0, {0, 1}, {1, 0}, Bytes(12'000));
  EXPECT_NEAR(in_ms(run(links, 1)[0]), 12'000.0 / 5000, kRoundingMs);
}

TEST(TokenBucket, GoesOnAtItsRate) {
  SharedLinks links({bucket(), plain(1e6)});
  links.start(0, 0, {0, 1}, {1, 0}, Bytes(20'000));
  EXPECT_NEAR(in_ms(run(links, 1)[0]), (2.5 + (20'000 - 12'500) / 1000.0), kRoundingMs);
}

// Empty at 2.5 ms; the flow ends at 10. By 14 ms there are 4000 tokens, which last 1 ms and let
// 5000 bytes pass.
TEST(TokenBucket, RefillsWhileNothingPasses) {
  SharedLinks links({bucket(), plain(1e6)});
  links.start(0, 0, {0, 1}, {1, 0}, Bytes(20'000));
  run(links, 1);
  links.start(14 * kMs, 0, {0, 1}, {1, 0}, Bytes(5000));
  EXPECT_NEAR(in_ms(run(links, 1)[0]), 15, kRoundingMs);
}

TEST(TokenBucket, HoldsNoMoreThanItsBurst) {
  SharedLinks links({bucket(), plain(1e6)});
  links.start(1000 * kMs, 0, {0, 1}, {1, 0}, Bytes(20'000));
  EXPECT_NEAR(in_ms(run(links, 1)[0]), 1000 + (2.5 + 7.5), kRoundingMs);
}

std::vector<HostEvent> all_events(EventMachine& machine) {
  std::vector<HostEvent> out;
  for (HostEvent e; machine.next(e);) out.push_back(e);
  return out;
}
HostSystem one_host(double cores) {
  HostSystem s;
  s.ranks_per_host = 2;
  s.cores = cores;
  return s;
}

// Given at one time, the first stream's piece goes first; the compute thread has a core of its own.
TEST(EventMachine, ACommunicationThreadDoesOnePieceAfterTheOther) {
  EventMachine machine(one_host(2), {0});
  machine.work(0, Stream::kGradSync, 5, EventKind::kLocal, 1);
  machine.work(0, Stream::kTp, 3, EventKind::kLocal, 2);
  machine.compute(0, 4);
  EXPECT_EQ(all_events(machine), (std::vector<HostEvent>{{3, 0, EventKind::kLocal, 2},
                                                         {4, 0, EventKind::kComputed, 0},
                                                         {3 + 5, 0, EventKind::kLocal, 1}}));
}

TEST(EventMachine, APieceThatHasBegunIsNotInterrupted) {
  EventMachine machine(one_host(2), {0});
  machine.work(0, Stream::kGradSync, 5, EventKind::kLocal, 1);
  machine.compute(0, 2);
  HostEvent event;
  ASSERT_TRUE(machine.next(event));
  machine.work(0, Stream::kTp, 3, EventKind::kLocal, 2);
  EXPECT_EQ(all_events(machine), (std::vector<HostEvent>{{5, 0, EventKind::kLocal, 1},
                                                         {5 + 3, 0, EventKind::kLocal, 2}}));
}

TEST(EventMachine, EventsOfOneTimeComeInTheOrderOfRanks) {
  EventMachine machine(one_host(4), {0, 0});
  machine.after(7, 1, EventKind::kArrived, 0);
  machine.after(7, 0, EventKind::kArrived, 9);
  machine.compute(1, 7);
  EXPECT_EQ(all_events(machine), (std::vector<HostEvent>{{7, 0, EventKind::kArrived, 9},
                                                         {7, 1, EventKind::kComputed, 0},
                                                         {7, 1, EventKind::kArrived, 0}}));
}

}  // namespace plait::event_parts_test
