// Max-min fair sharing against a slow, obviously right solution, and flows over time against closed
// forms.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "sim/network/flow_network.h"
#include "sim/network/link_capacity.h"

namespace plait::network_test {

struct ReferenceFlow {
  std::vector<LinkUse> uses;
  double cap = 0;
  double rate = 0;
  bool settled = false;
};

/// Progressive filling, all at once: raise every rate together until a link is full or a cap is
/// reached, settle these flows, go on with the rest.
void fill(const std::vector<double>& capacity, std::vector<ReferenceFlow*>& flows) {
  for (ReferenceFlow* f : flows) f->settled = false, f->rate = 0;
  const auto share = [](const LinkUse& u) { return static_cast<double>(u.weight) / kWholeFlow; };
  double level = 0;
  for (;;) {
    std::vector<double> used(capacity.size()), rising(capacity.size());
    double next = 1e300;
    for (const ReferenceFlow* f : flows) {
      for (const LinkUse& u : f->uses) {
        (f->settled ? used : rising)[u.link] += share(u) * (f->settled ? f->rate : 1);
      }
      if (!f->settled) next = std::min(next, f->cap);
    }
    if (next == 1e300) return;
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      if (rising[l] > 0) next = std::min(next, (capacity[l] - used[l]) / rising[l]);
    }
    level = std::max(level, next);
    for (ReferenceFlow* f : flows) {
      if (f->settled) continue;
      bool stops = f->cap <= level * (1 + 1e-12);
      for (const LinkUse& u : f->uses) {
        stops |= (capacity[u.link] - used[u.link]) / rising[u.link] <= level * (1 + 1e-12);
      }
      if (stops) f->settled = true, f->rate = level;
    }
  }
}

class RandomNetwork {
 public:
  explicit RandomNetwork(unsigned seed) : random_(seed) {
    const int links = pick(1, 12);
    for (int l = 0; l < links; ++l) capacity_.push_back(pick(1, 40) * FlowRate{1'000'000'000});
  }
  std::vector<LinkUse> uses() {
    std::vector<std::uint32_t> links(capacity_.size());
    std::iota(links.begin(), links.end(), 0U);
    std::shuffle(links.begin(), links.end(), random_);
    links.resize(static_cast<std::size_t>(pick(1, std::min<int>(5, int(links.size())))));
    std::vector<LinkUse> out;
    for (const std::uint32_t l : links) {
      out.push_back({l, pick(0, 3) > 0 ? kWholeFlow : pick(1, 4 * int(kWholeFlow))});
    }
    return out;
  }
  FlowRate cap() { return pick(1, 60) * FlowRate{1'000'000'000}; }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  const std::vector<FlowRate>& capacity() const { return capacity_; }

 private:
  std::mt19937 random_;
  std::vector<FlowRate> capacity_;
};

/// Flows come and go in batches; after each the rates are those of the reference, no link carries
/// more than it can, and `changed` names exactly the flows whose rate is another.
void come_and_go(unsigned seed) {
  RandomNetwork network(seed);
  MaxMin solver(network.capacity());
  const std::vector<double> capacity(network.capacity().begin(), network.capacity().end());
  std::vector<std::pair<FlowId, std::unique_ptr<ReferenceFlow>>> flows;
  for (int step = 0; step < 25; ++step) {
    for (int k = network.pick(0, 3); k > 0 && !flows.empty(); --k) {
      const auto at = flows.begin() + network.pick(0, int(flows.size()) - 1);
      solver.erase(at->first);
      flows.erase(at);
    }
    for (int k = network.pick(0, 4); k > 0; --k) {
      auto f = std::make_unique<ReferenceFlow>();
      f->uses = network.uses();
      const FlowRate cap = network.cap();
      f->cap = static_cast<double>(cap);
      flows.emplace_back(solver.insert(f->uses, cap), std::move(f));
    }
    std::vector<FlowId> changed;
    solver.solve(changed);
    std::vector<ReferenceFlow*> all;
    for (const auto& [id, f] : flows) all.push_back(f.get());
    fill(capacity, all);
    std::vector<double> carried(capacity.size());
    for (const auto& [id, f] : flows) {
      const auto rate = static_cast<double>(solver.rate(id));
      ASSERT_NEAR(rate, f->rate, 1e-6 * f->rate) << "seed " << seed << " step " << step;
      for (const LinkUse& u : f->uses) {
        carried[u.link] += rate * static_cast<double>(u.weight) / kWholeFlow;
      }
    }
    for (std::size_t l = 0; l < capacity.size(); ++l) ASSERT_LE(carried[l], capacity[l] + 1e-3);
  }
}

TEST(MaxMin, EqualsProgressiveFillingOnRandomNetworks) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    come_and_go(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(MaxMin, ChangedNamesTheFlowsOfAnotherRate) {
  RandomNetwork network(7);
  MaxMin solver(network.capacity());
  std::vector<std::vector<LinkUse>> uses(200);
  std::vector<FlowRate> before;
  for (std::vector<LinkUse>& u : uses) {
    u = network.uses();
    const FlowId id = solver.insert(u, network.cap());
    std::vector<FlowId> changed;
    solver.solve(changed);
    before.resize(std::max<std::size_t>(before.size(), id + 1));
    for (FlowId f = 0; f < before.size(); ++f) {
      const bool named = std::ranges::find(changed, f) != changed.end();
      EXPECT_EQ(named, solver.rate(f) != before[f]);
      before[f] = solver.rate(f);
    }
  }
}

TEST(MaxMin, CopiesOfANetworkEqualOneWithWeights) {
  // k equal flows over a link of capacity C, or one with weight k: C / k each.
  for (const std::int64_t k : {2, 3, 7, 1000}) {
    const std::vector<LinkUse> once = {{0, kWholeFlow}}, folded = {{0, k * kWholeFlow}};
    MaxMin many({10'000'000'007}), one({10'000'000'007});
    for (std::int64_t i = 0; i < k; ++i) many.insert(once, 1'000'000'000'000);
    one.insert(folded, 1'000'000'000'000);
    std::vector<FlowId> changed;
    many.solve(changed);
    one.solve(changed);
    EXPECT_EQ(many.rate(0), 10'000'000'007 / k);
    EXPECT_EQ(one.rate(0), many.rate(0));
  }
}

constexpr FlowRate kGigabyte = 1'000'000'000;
constexpr SimTime kMillisecond = 1'000'000'000;

TEST(MaxMin, HasRoomForLinksThatCarryMoreThanIsCounted) {
  std::vector<FlowRate> capacity;
  NetworkLink link;
  for (const double bandwidth : {0.1, 1e9, 7e15, 1e300, std::numeric_limits<double>::infinity()}) {
    link.bandwidth = BytesPerSecond(bandwidth);
    capacity.push_back(capacity_of(link));
  }
  const MaxMin network(capacity);
  EXPECT_EQ(capacity,
            (std::vector<FlowRate>{1, 1'000'000'000, kMostCapacity, kMostCapacity, kMostCapacity}));
}

TEST(FlowNetwork, AloneAFlowTakesWhatItWasSaidTo) {
  FlowNetwork net({100 * kGigabyte});
  const std::vector<LinkUse> uses = {{0, kWholeFlow}};
  net.start(17, 5, uses, 100 * kGigabyte, 123'456'789);
  EXPECT_EQ(net.next(), 17 + 123'456'789);
  std::vector<std::uint32_t> ended;
  net.advance(net.next(), ended);
  EXPECT_EQ(ended, std::vector<std::uint32_t>{5});
}

TEST(FlowNetwork, TwoShareALinkAndTheSecondSpeedsUpWhenTheFirstHasEnded) {
  // Each alone takes 1 and 3 ms at 10 GB/s. Together: both at 5 until the first ends at 2 ms; the
  // second then has 2 ms left at full rate: 4 ms.
  FlowNetwork net({10 * kGigabyte});
  std::vector<HoldUp> log;
  net.record(&log);
  const std::vector<LinkUse> uses = {{0, kWholeFlow}};
  net.start(0, 1, uses, 10 * kGigabyte, kMillisecond);
  net.start(0, 2, uses, 10 * kGigabyte, 3 * kMillisecond);
  EXPECT_EQ(net.next(), 2 * kMillisecond);
  std::vector<std::uint32_t> ended;
  net.advance(2 * kMillisecond, ended);
  EXPECT_EQ(net.next(), 4 * kMillisecond);
  net.advance(4 * kMillisecond, ended);
  EXPECT_EQ(ended, (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(log.size(), 2U);
  for (const HoldUp& h : log) {
    EXPECT_EQ(h.link, 0U);
    EXPECT_EQ(h.time, 2 * kMillisecond);
    EXPECT_EQ(h.lost, kMillisecond);
  }
}

TEST(FlowNetwork, RoundingIsAtMostOnePicosecondPerChange) {
  // n flows of b bytes over one link of rate r, started one after the other: all end when n b / r
  // has been carried, as the link is never idle.
  constexpr int kFlows = 200;
  constexpr SimTime kAlone = 1'234'567;
  FlowNetwork net({7 * kGigabyte});
  const std::vector<LinkUse> uses = {{0, kWholeFlow}};
  for (int i = 0; i < kFlows; ++i) {
    net.start(i * 1000, static_cast<std::uint32_t>(i), uses, 7 * kGigabyte, kAlone);
  }
  std::vector<std::uint32_t> ended;
  SimTime last = 0;
  while (net.next() != RadixHeap<FlowId>::kEmpty) net.advance(last = net.next(), ended);
  EXPECT_EQ(ended.size(), std::size_t{kFlows});
  EXPECT_NEAR(double(last), double(kFlows * kAlone), 2.0 * kFlows);
}

TEST(RadixHeap, GivesTimesInOrder) {
  std::mt19937 random(3);
  RadixHeap<int> heap;
  std::multimap<SimTime, int> expected;
  SimTime now = 0;
  for (int i = 0; i < 20000; ++i) {
    const SimTime t = now + std::uniform_int_distribution<SimTime>(0, 1 << (i % 30))(random);
    heap.push(t, i);
    expected.emplace(t, i);
    if (i % 3 != 0) continue;
    now = heap.earliest([](int) { return true; });
    ASSERT_EQ(now, expected.begin()->first);
    std::vector<int> out, want;
    heap.take_earliest(out);
    for (auto [at, end] = expected.equal_range(now); at != end; ++at) want.push_back(at->second);
    expected.erase(now);
    std::ranges::sort(out);
    std::ranges::sort(want);
    ASSERT_EQ(out, want);
  }
}

}  // namespace plait::network_test
