// What a step puts on every link, against sums over the plan made by hand.

#include "sim/link_traffic.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/cases.h"

namespace plait::link_traffic_test {

struct Loaded {
  Plan plan;
  std::shared_ptr<const Network> network;
  LinkTraffic traffic;
};

Loaded loaded(const Case& c) {
  Loaded out;
  out.plan = c.plan();
  const Cluster cluster = c.cluster();
  out.network = make_network(cluster, routing_of(cluster));
  out.traffic = link_traffic(out.plan, cluster, c.costs(), c.placement, *out.network);
  return out;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Links that a message crosses.
std::size_t hops(const Network& network, std::int64_t from, std::int64_t to) {
  std::vector<LinkId> links;
  network.route(from, to, 0, links);
  return links.size();
}

TEST(LinkTraffic, StagesSendEachMicrobatchOnceEachWay) {
  const Case c = small_case(2, 1, 1, 1);
  const Loaded l = loaded(c);
  // x of one microbatch goes forward and its gradient back: tokens x hidden, bf16.
  const double message = 24.0 * 96 * 2, microbatches = 2;
  std::vector<LinkId> forward, back;
  l.network->route(0, 1, 0, forward);
  l.network->route(1, 0, 0, back);
  for (const LinkId link : forward) {
    EXPECT_DOUBLE_EQ(l.traffic.messages[link], microbatches * message);
  }
  for (const LinkId link : back) {
    EXPECT_DOUBLE_EQ(l.traffic.messages[link], microbatches * message);
  }
  EXPECT_DOUBLE_EQ(sum(l.traffic.messages),
                   2 * microbatches * message * static_cast<double>(forward.size()));
}

TEST(LinkTraffic, WithoutGroupsNothingIsSent) {
  const Loaded l = loaded(small_case(1, 1, 1, 1));
  EXPECT_EQ(sum(l.traffic.collectives) + sum(l.traffic.messages), 0);
}

/// S of all collectives of a rank of stage 0 that have this kind.
double volume(const Plan& plan, CollectiveKind kind) {
  double out = 0;
  for (const Call& call : plan.programs[0].calls) {
    for (const Op& op : plan.blocks[call.block].ops) {
      const Collective* c = std::get_if<Collective>(&op.body);
      if (c != nullptr && c->kind == kind) out += static_cast<double>(c->bytes().value);
    }
  }
  return out;
}

TEST(LinkTraffic, TwoRanksSendHalfOfWhatIsGatheredAndAllOfWhatIsReduced) {
  Case c = small_case(1, 1, 2, 1);
  c.machine.preset = "dgx-a100";  // no switch that adds
  const Loaded l = loaded(c);
  // Rings of two: (n - 1) / n S each for all_gather and reduce_scatter, twice that for all_reduce.
  const double each = 0.5 * volume(l.plan, CollectiveKind::kAllGather) +
                      0.5 * volume(l.plan, CollectiveKind::kReduceScatter) +
                      volume(l.plan, CollectiveKind::kAllReduce);
  const double links = static_cast<double>(hops(*l.network, 0, 1) + hops(*l.network, 1, 0));
  EXPECT_GT(each, 0);
  EXPECT_NEAR(sum(l.traffic.collectives), each * links, 1e-9 * each * links);
}

TEST(LinkTraffic, WhatTpSendsStaysInItsPairAndDpComesOnTop) {
  // Two replicas of tp 2.
  const Loaded one = loaded(small_case(1, 1, 1, 2));
  Case two = small_case(1, 2, 1, 2);
  two.machine.devices_per_node = 4;
  const Loaded both = loaded(two);
  std::vector<LinkId> links;
  one.network->route(0, 1, 0, links);
  const double alone = one.traffic.bytes(links.front());
  links.clear();
  both.network->route(0, 1, 0, links);
  EXPECT_GT(alone, 0);
  EXPECT_GT(both.traffic.bytes(links.front()), alone);
  EXPECT_EQ(sum(both.traffic.messages), 0);
}

TEST(LinkTraffic, PlacementMovesTheTrafficWithTheRanks) {
  Case c = small_case(2, 1, 1, 1);
  c.machine.nodes = 2, c.machine.devices_per_node = 1;
  const Loaded straight = loaded(c);
  c.placement = {1, 0};
  const Loaded swapped = loaded(c);
  EXPECT_DOUBLE_EQ(sum(straight.traffic.messages), sum(swapped.traffic.messages));
  std::vector<LinkId> links;
  straight.network->route(0, 1, 0, links);
  for (const LinkId link : links) EXPECT_GT(swapped.traffic.messages[link], 0);
}

}  // namespace plait::link_traffic_test
