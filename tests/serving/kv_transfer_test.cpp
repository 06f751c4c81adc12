// How much is sent between instances, over which ports, and how long it takes: against the sizes of
// caches and the cost of single messages.
#include "serving/kv_transfer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "costmodel/transfer.h"
#include "serving/priced_pool.h"
#include "tests/serving/served.h"

namespace plait::kv_transfer_test {

/// Llama 3.1 70B in bf16: 2 x 80 layers x 8 key heads x 128 numbers of 2 bytes.
constexpr std::int64_t kToken = 2 * 80 * 8 * 128 * 2;

struct Layout {
  std::int64_t tp = 1, pp = 1, dp = 1, first = 0;
};

ServedModel on(const Cluster& cluster, const Layout& l, const char* model = "llama-3.1-70b") {
  ServedModel s;
  s.model = *find_preset(model);
  s.cluster = cluster;
  s.layout.mesh[Axis::kTp] = l.tp, s.layout.mesh[Axis::kPp] = l.pp, s.layout.mesh[Axis::kDp] = l.dp;
  s.layout.map = even_layers(s.model.layers, l.pp);
  s.placement.resize(static_cast<std::size_t>(l.tp * l.pp * l.dp));
  std::iota(s.placement.begin(), s.placement.end(), l.first);
  return s;
}

Cluster machine(std::int64_t nodes, const char* preset = "hgx-h100") {
  ClusterSpec spec;
  spec.preset = preset, spec.nodes = nodes;
  return make_cluster(spec);
}

/// Of the slowest port, between the first instances.
double slowest(const KvRoutes& routes) {
  double out = 0;
  for (const KvRoute::Load& l : routes.routes[0][0].loads) {
    out = std::max(out, l.per_token.value);
  }
  return out;
}

double over_nodes(const Layout& prefill, Layout decode) {
  const Cluster c = machine(2);
  decode.first = 8;
  return slowest(kv_routes(on(c, prefill), on(c, decode)));
}

const double kNic = 50e9 * message_share(LinkClass::kInfiniband);

TEST(KvTransfer, ATokenHasTheBytesOfItsKeysAndValues) {
  const Cluster c = machine(2);
  for (const std::int64_t tp : {1, 2, 4, 8}) {
    const KvRoutes r = kv_routes(on(c, {8}), on(c, {tp, 1, 1, 8}));
    EXPECT_EQ(r.bytes_per_token.value, kToken);
  }
  EXPECT_EQ(kv_routes(on(c, {4, 2}), on(c, {2, 4, 1, 8})).bytes_per_token.value, kToken);
}

// Eight key heads over 16 ranks: each is there twice. Latents are on every rank: 61 layers of 512 +
// 64 numbers of two bytes.
TEST(KvTransfer, RepeatedHeadsAndLatentsAreSentToEachRank) {
  const Cluster c = machine(4);
  EXPECT_EQ(kv_routes(on(c, {8}), on(c, {16, 1, 1, 8})).bytes_per_token.value, 2 * kToken);
  const KvRoutes latent = kv_routes(on(c, {8}, "deepseek-v3"), on(c, {16, 1, 1, 8}, "deepseek-v3"));
  EXPECT_EQ(latent.bytes_per_token.value, 16 * 61 * (512 + 64) * 2);
}

// Each NIC carries an eighth, whether ranks divide heads or stages divide layers.
TEST(KvTransfer, NicsShareAToken) {
  EXPECT_NEAR(over_nodes({8}, {8}), kToken / 8.0 / kNic, 1e-15);
  EXPECT_NEAR(over_nodes({4, 2}, {8}), kToken / 8.0 / kNic, 1e-15);
  EXPECT_NEAR(over_nodes({4, 2}, {2, 4}), kToken / 8.0 / kNic, 1e-15);
}

TEST(KvTransfer, TheSideWithFewerNicsDecides) {
  EXPECT_NEAR(over_nodes({8}, {2}), kToken / 2.0 / kNic, 1e-15);
  EXPECT_NEAR(over_nodes({4}, {8}), kToken / 4.0 / kNic, 1e-15);
}

// Four NICs of eight devices: a NIC carries what two of them send.
TEST(KvTransfer, DevicesShareTheirNic) {
  const Cluster c = machine(2, "aws-p4d");
  const KvRoutes r = kv_routes(on(c, {8}), on(c, {8, 1, 1, 8}));
  const double nic = c.nic_bandwidth.value * message_share(route(c, 0, 8).link);
  EXPECT_EQ(c.nics_per_node, 4);
  EXPECT_NEAR(slowest(r), kToken / 4.0 / nic, 1e-15);
}

// One rank each: a transfer is a message, within a node and between nodes.
TEST(KvTransfer, OfOneRankIsAMessage) {
  for (const std::int64_t device : {1, 8}) {
    const Cluster c = machine(2);
    const KvRoutes r = kv_routes(on(c, {1}), on(c, {1, 1, 1, device}));
    KvPorts ports(r);
    const Seconds cost = message_cost(Bytes(1000 * kToken), route(c, 0, device)).total();
    EXPECT_NEAR(to_seconds(ports.send(0, 0, 1000, 0)).value, cost.value, 1e-9);
  }
}

// A transfer asked for while another is under way waits for it at a port that both need; a sender
// of eight NICs has time for four receivers of two.
TEST(KvTransfer, APortIsHeldAsLongAsItsBytesTake) {
  const Cluster c = machine(2);
  const KvRoutes r = kv_routes(on(c, {8}), on(c, {2, 1, 4, 8}));
  const KvRoute& way = r.routes[0][0];
  const SimTime alone = KvPorts(r).send(0, 0, 1000, 0);
  KvPorts ports(r);
  EXPECT_EQ(ports.send(0, 0, 1000, 0), alone);
  const SimTime same = ports.send(0, 0, 1000, 0), held = alone - way.start;
  EXPECT_EQ(same, alone + held);
  KvPorts fresh(r);
  for (std::size_t j = 0; j < 4; ++j) {
    const auto wait = static_cast<SimTime>(j) * held / 4;
    EXPECT_NEAR(static_cast<double>(fresh.send(0, j, 1000, 0)), static_cast<double>(alone + wait),
                10);
  }
}

TEST(KvTransfer, NoTokensTakeNoTime) {
  const Cluster c = machine(2);
  const KvRoutes r = kv_routes(on(c, {8}), on(c, {8, 1, 1, 8}));
  EXPECT_EQ(KvPorts(r).send(0, 0, 0, 5), 5);
}

// Whatever the layouts: what leaves through ports, and what comes in, is what ranks need, and no
// port has less than its part.
RC_GTEST_PROP(KvTransfer, PortsCarryWhatArrives, ()) {
  const auto drawn = [](std::int64_t first) {
    Layout l = {std::int64_t{1} << *rc::gen::inRange(0, 4), 1, 1, first};
    l.pp = std::int64_t{1} << *rc::gen::inRange(0, l.tp == 8 ? 1 : 2);
    return l;
  };
  const Layout p = drawn(0), d = drawn(8);
  const Cluster c = machine(2);
  const KvRoutes r = kv_routes(on(c, p), on(c, d));
  double out = 0, in = 0;
  for (const KvRoute::Load& l : r.routes[0][0].loads) {
    (l.port % 2 == 0 ? out : in) += l.per_token.value * kNic;
  }
  RC_ASSERT(std::abs(out / kToken - 1) < 1e-9);
  RC_ASSERT(std::abs(in / kToken - 1) < 1e-9);
  const auto fewest = static_cast<double>(std::min(p.tp * p.pp, d.tp * d.pp));
  RC_ASSERT(slowest(r) >= kToken / fewest / kNic * (1 - 1e-9));
}

// Leaves that pass on a fourth of what comes from the nodes of a pod: a NIC has a fourth.
TEST(KvTransfer, AnOversubscribedFabricSlowsWhatLeavesThePod) {
  ClusterSpec spec;
  spec.nodes = 4, spec.nodes_per_pod = 2, spec.oversubscription = 4;
  const Cluster c = make_cluster(spec);
  const double near = slowest(kv_routes(on(c, {8}), on(c, {8, 1, 1, 8})));
  const double far = slowest(kv_routes(on(c, {8}), on(c, {8, 1, 1, 16})));
  EXPECT_NEAR(far / near, 4, 1e-9);
}

// The model's own steps on two pools of one layout: without transfer time one request feels nothing
// of it.
TEST(KvTransfer, WithoutTimeItIsTheAggregatedEngine) {
  EngineLimits limits;
  limits.max_context = 2048;
  PricedPool pool(served({8, 1, "llama-3.1-70b"}), limits, {}, {});
  const StepPrice price = [&](const Step& step, std::size_t) -> const StepTime& {
    return pool.price(step);
  };
  const ServerOptions options = pool.options(1);
  const std::vector<Request> requests = {{0, 1000, 50, 0}};
  const KvRoutes none = {0, {{{}}}, Bytes(kToken)};
  const Service one = serve(requests, {}, options, price);
  const Service two =
      serve(requests, {}, {options, options, price, price, none, FirstToken::kPrefill});
  EXPECT_EQ(two.requests[0].first_token, one.requests[0].first_token);
  EXPECT_EQ(two.gaps, one.gaps);
}

}  // namespace plait::kv_transfer_test
