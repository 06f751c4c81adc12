#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "topologies/catalogue.h"
#include "topologies/graph.h"
#include "topologies/network.h"

namespace plait::faults_test {

/// 2 pods of 2 nodes of 8 H100s; 2 spines.
Cluster with(std::vector<Fault> faults, double oversubscription = 1) {
  return make_cluster({.preset = "hgx-h100",
                       .nodes = 4,
                       .nodes_per_pod = 2,
                       .oversubscription = oversubscription,
                       .faults = std::move(faults)});
}

std::vector<std::string> names_of(const Network& network, std::int64_t from, std::int64_t to,
                                  std::uint64_t connection = 0) {
  std::vector<LinkId> links;
  network.route(from, to, connection, links);
  std::vector<std::string> out;
  for (const LinkId id : links) out.push_back(network.name_of(id));
  return out;
}

bool any_with(const std::vector<std::string>& names, const std::string& text) {
  return std::ranges::any_of(
      names, [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

double inter(const Cluster& c, std::vector<std::int64_t> devices) {
  return place_group(c, devices).inter.bandwidth.value;
}

std::string code_of(std::vector<Fault> faults) {
  try {
    with(std::move(faults));
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

TEST(Faults, TheSameLinksTwiceAreRefusedAndBothNamed) {
  const std::string leaf = "pod 0 leaf 5", spine = "spine 1";
  EXPECT_EQ(code_of({{.at = leaf, .to = spine, .factor = 0.5}, {.at = spine, .to = leaf}}), "C010");
  EXPECT_EQ(code_of({{.at = spine, .factor = 0.5}, {.at = spine, .to = leaf}}), "");
  try {
    with({{.at = "node 0: nic 1"}, {.at = spine}, {.at = "node 0: nic 1", .factor = 0.5}});
    FAIL() << "not refused";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().problem, "faults.0 and faults.2 are both of \"node 0: nic 1\"");
  }
}

TEST(Faults, ASlowNicNarrowsItsGroupsAndNoOthers) {
  const Cluster c = with({{.at = "node 1: nic 3", .factor = 0.25}});
  const double b = c.nic_bandwidth.value;
  EXPECT_DOUBLE_EQ(inter(c, {3, 11, 19, 27}), b / 4);
  EXPECT_DOUBLE_EQ(inter(c, {3, 19, 27}), b);
  EXPECT_DOUBLE_EQ(inter(c, {2, 10, 18, 26}), b);
  EXPECT_DOUBLE_EQ(route(c, 3, 11).bandwidth.value, b / 4);
}

TEST(Faults, DevicesOfAFailedNicShareTheNextOne) {
  const Cluster c = with({{.at = "node 1: nic 3"}});
  EXPECT_DOUBLE_EQ(inter(c, {3, 11, 19, 27}), c.nic_bandwidth.value / 2);
  EXPECT_DOUBLE_EQ(inter(c, {2, 10, 18, 26}), c.nic_bandwidth.value / 2);
  EXPECT_DOUBLE_EQ(inter(c, {1, 9, 17, 25}), c.nic_bandwidth.value);
  const auto network = make_network(c);
  for (std::int64_t from = 0; from < 8; ++from) {
    EXPECT_FALSE(any_with(names_of(*network, from, 11), "nic 3 "));
    EXPECT_TRUE(any_with(names_of(*network, from, 11), "node 1: nic 2"));
  }
}

TEST(Faults, AFailedCableOfANicIsAFailedNic) {
  const Cluster c = with({{.at = "node 1: nic 3", .to = "pod 0 leaf 3"}});
  EXPECT_DOUBLE_EQ(inter(c, {3, 11}), c.nic_bandwidth.value / 2);
}

TEST(Faults, ALeafWithOneCableUpInsteadOfTwoHasHalf) {
  const Cluster c = with({{.at = "pod 0 leaf 5", .to = "spine 1"}});
  const double b = c.nic_bandwidth.value;
  // A node of each pod: two such groups share what the leaf has left.
  EXPECT_DOUBLE_EQ(inter(c, {5, 16 + 5}), b / 2);
  EXPECT_DOUBLE_EQ(inter(c, {4, 16 + 4}), b);
  EXPECT_DOUBLE_EQ(inter(c, {5, 8 + 5}), b);  // one pod: not over spines
}

TEST(Faults, TheNetworkLosesExactlyTheseCables) {
  const Cluster whole = with({}), broken = with({{.at = "pod 0 leaf 5", .to = "spine 1"}});
  for (const Spreading s : {Spreading::kEven, Spreading::kHash}) {
    const auto a = make_network(whole, {.spreading = s});
    const auto b = make_network(broken, {.spreading = s});
    ASSERT_EQ(a->links().size(), b->links().size());
    double lost = 0;
    for (LinkId id = 0; id < a->links().size(); ++id) {
      ASSERT_EQ(a->name_of(id), b->name_of(id));
      lost += a->links()[id].bandwidth.value - b->links()[id].bandwidth.value;
    }
    EXPECT_NEAR(lost, 2 * whole.nic_bandwidth.value, 1);  // both directions
  }
}

TEST(Faults, TheHashTakesOnlyWaysThatWork) {
  const Cluster c = with({{.at = "spine 1"}});
  const auto network = make_network(c, {.spreading = Spreading::kHash});
  for (std::uint64_t k = 0; k < 50; ++k) {
    const auto names = names_of(*network, 0, 16, k);
    EXPECT_TRUE(any_with(names, "spine 0"));
    EXPECT_FALSE(any_with(names, "spine 1"));
  }
}

TEST(Faults, NvlinksThatFailNarrowTheirIslandOnly) {
  const Cluster c = with({{.at = "node 1: device 2", .to = "node 1: nvswitch 0", .factor = 0.5}});
  const double full = c.device.nvlink_bandwidth().value;
  const auto intra = [&](std::vector<std::int64_t> d) {
    return place_group(c, d).intra.bandwidth.value;
  };
  EXPECT_DOUBLE_EQ(intra({8, 9, 10, 11}), full / 2);
  EXPECT_DOUBLE_EQ(intra({0, 1, 2, 3}), full);
  EXPECT_DOUBLE_EQ(intra({0, 1, 2, 3, 8, 9, 10, 11}), full / 2);
}

TEST(Faults, WithoutNvlinkADeviceUsesPcie) {
  const Cluster c = with({{.at = "node 1: device 2", .to = "node 1: nvswitch 0"}});
  EXPECT_EQ(route(c, 8, 10).link, LinkClass::kPcie);
  EXPECT_EQ(route(c, 8, 9).link, LinkClass::kNvlink);
}

TEST(Faults, BreakTheSymmetryOfTheMachine) {
  EXPECT_EQ(symmetry_period(with({})), 16);
  EXPECT_EQ(symmetry_period(with({{.at = "node 1: nic 3", .factor = 0.5}})), 32);
}

TEST(Faults, ThatCutDevicesOffAreRefused) {
  EXPECT_EQ(code_of({{.at = "node 1: device 2"}}), "C009");
  std::vector<Fault> all_nics;
  for (int k = 0; k < 8; ++k) all_nics.push_back({.at = "node 1: nic " + std::to_string(k)});
  EXPECT_EQ(code_of(all_nics), "C009");
  const Cluster c = with({{.at = "spine 0"}, {.at = "spine 1"}});
  EXPECT_NO_THROW(route(c, 0, 8));
  EXPECT_THROW(route(c, 0, 16), InputError);
  std::vector<LinkId> links;
  EXPECT_THROW(make_network(c)->route(0, 16, 0, links), InputError);
}

TEST(Faults, OfPartsThatAreNotThereAreRefused) {
  for (const std::string at :
       {"node 4: nic 0", "node 0: nic 8", "node x", "spine 2", "pod 9", ""}) {
    EXPECT_EQ(code_of({{.at = at}}), "C010") << at;
  }
  EXPECT_EQ(code_of({{.at = "pod 0 leaf 0", .to = "pod 0 leaf 1"}}), "C010");
}

}  // namespace plait::faults_test
