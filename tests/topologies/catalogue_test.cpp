#include "topologies/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "core/error.h"
#include "tests/topologies/joinable.h"

namespace plait::catalogue_test {

std::string code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& e) {
    return e.text().code;
  }
  return "";
}

/// Keys whose number is a count, a generation or a ratio, and so has no unit.
bool unitless(const std::string& key) {
  static const std::vector<std::string> keys = {
      "sms",           "compute_capability",  "nvlink_links",
      "devices",       "nvswitch_generation", "links",
      "sockets",       "pcie_switches",       "nics",
      "rails",         "nodes_per_pod",       "oversubscription",
      "host_slowdown", "matmul_yield",        "devices_per_host",
      "switch_ports"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool has_unit(const std::string& text) {
  const UnitTable* tables[] = {&unit_table<Bytes>(), &unit_table<BytesPerSecond>(),
                               &unit_table<FlopsPerSecond>(), &unit_table<Seconds>(),
                               &unit_table<Watts>()};
  return std::any_of(std::begin(tables), std::end(tables), [&](const UnitTable* table) {
    return code_of([&] { parse_amount(text, *table, {}); }).empty();
  });
}

/// Numbers that stand there without a source, or with neither unit nor the right to have none.
void expect_sources(const Json& json, int& numbers) {
  if (const Json* value = json.find("value")) {
    const Json* source = json.find("source");
    ASSERT_NE(source, nullptr) << json.path();
    EXPECT_GT(source->text().size(), 8U) << json.path();
    const bool number = value->is(Json::Kind::kInteger) || value->is(Json::Kind::kNumber);
    EXPECT_TRUE(!number || unitless(json.key())) << json.path();
    EXPECT_TRUE(!value->is(Json::Kind::kText) || has_unit(value->text())) << json.path();
    ++numbers;
    return;
  }
  const bool place_in_node = json.key() == "a" || json.key() == "b";  // ends of a mesh link
  EXPECT_FALSE(json.is(Json::Kind::kInteger) && !place_in_node) << json.path() << " has no source";
  EXPECT_FALSE(json.is(Json::Kind::kNumber)) << json.path() << " has no source";
  for (const Json* child : json.children()) expect_sources(*child, numbers);
}

TEST(Catalogue, EveryNumberHasUnitAndSource) {
  int numbers = 0;
  for (const CatalogueEntry& e : catalogue()) {
    if (e.kind == "frameworks") continue;  // choices, not quantities; tests/scenarios has them
    SCOPED_TRACE(std::string(e.kind) + "/" + std::string(e.name));
    const JsonDocument document = parse_json(e.json, std::string(e.name));
    expect_sources(document.root(), numbers);
  }
  EXPECT_GT(numbers, 200);
}

TEST(Catalogue, TheCompiledTextIsTheFile) {
  std::size_t files = 0;
  for (const CatalogueEntry& e : catalogue()) {
    std::ifstream file(std::string(PLAIT_SOURCE_DIR) + "/topologies/catalogue/" +
                       std::string(e.kind) + "/" + std::string(e.name) + ".json");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), e.json) << e.name;
    ++files;
  }
  namespace fs = std::filesystem;
  const auto folder =
      fs::recursive_directory_iterator(std::string(PLAIT_SOURCE_DIR) + "/topologies/catalogue");
  const auto on_disk = std::count_if(fs::begin(folder), fs::end(folder), [](const auto& entry) {
    return entry.path().extension() == ".json";
  });
  EXPECT_EQ(static_cast<std::size_t>(on_disk), files);
}

TEST(Catalogue, EveryNameIsTheNameInItsFile) {
  for (const auto& name : device_names()) EXPECT_EQ(find_device(name).name, name);
  for (const auto& name : cluster_names()) EXPECT_EQ(find_node(name).name, name);
  for (const auto& name : fabric_names()) EXPECT_EQ(find_fabric(name).name, name);
}

TEST(Catalogue, EveryClusterBuildsOverEveryFabric) {
  for (const auto& name : joinable_names()) {
    for (const auto& fabric : fabric_names()) {
      const Cluster c = make_cluster({.preset = name, .nodes = 3, .fabric = fabric});
      EXPECT_EQ(c.world_size(), 3 * find_node(name).devices);
      EXPECT_GT(route(c, 0, c.world_size() - 1).bandwidth.value, 0);
    }
  }
}

TEST(Catalogue, EveryDeviceFitsIntoAPcieBox) {
  for (const auto& name : device_names()) {
    if (find_device(name).pcie_bandwidth.value <= 0) continue;
    const Cluster c = make_cluster({.preset = "pcie-8", .device = find_device(name)});
    EXPECT_EQ(c.device.name, name);
  }
}

/// Of the catalogue, NVIDIA's.
std::vector<Device> gpus() {
  std::vector<Device> out;
  for (const auto& name : device_names()) out.push_back(find_device(name));
  std::erase_if(out, [](const Device& d) {
    return d.compute_capability == 0 || d.compute_capability >= 900;
  });
  return out;
}

// Tensor cores double their rate when the bits of a number halve, up to rounding. Blackwell Ultra's
// do nvfp4 at three times the rate of fp8; GeForce's do all but nvfp4 at half the rate of the
// professional cards when they add up in fp32.
TEST(Catalogue, PeaksRiseAsNumbersGetNarrower) {
  const auto four_bits = [](const Device& d) {
    if (d.compute_capability == 103) return 6;
    return d.name.starts_with("rtx-50") ? 8 : 4;
  };
  for (const Device& d : gpus()) {
    EXPECT_LE(d.peak_fp32, d.peak_bf16) << d.name;
    EXPECT_LE(d.peak_bf16, d.peak_fp16) << d.name;
    EXPECT_GE(d.vector_fp32, d.peak_fp32) << d.name;
    const double eight = d.compute_capability >= 89 ? 2 : 0;
    const double four = d.compute_capability >= 100 ? four_bits(d) : 0;
    EXPECT_NEAR(d.peak_fp8 / d.peak_bf16, eight, 0.03) << d.name;
    EXPECT_NEAR(d.peak_fp4 / d.peak_bf16, four, 0.03) << d.name;
  }
}

/// Operations that the tensor cores of a multiprocessor do in a clock, dense, in 16 bits: Volta,
/// Ampere, Hopper and Blackwell whitepapers; compute capabilities 7.5, 8.6, 8.9 and 12.0 have
/// half of what A100 has.
double per_clock(int compute_capability) {
  switch (compute_capability) {
    case 80: return 2048;
    case 90: return 4096;
    case 100:
    case 103: return 8192;
    default: return 1024;
  }
}

// Twice the peak, which is what data sheets print with sparsity, would need a clock that no GPU
// has.
TEST(Catalogue, PeaksAreDense) {
  for (const Device& d : gpus()) {
    const double clock = d.peak_fp16.value / (d.sms * per_clock(d.compute_capability));
    EXPECT_LT(clock, 2.7e9) << d.name;
    EXPECT_GT(clock, 0.4e9) << d.name;  // H20 is slowed down on purpose
  }
}

// From an RTX 5080, 17 ms, to an L4, 79; GB10, whose memory is its processor's too, takes 0.47 s.
TEST(Catalogue, MemoryIsReadOnceInATenthOfASecondAtMost) {
  for (const Device& d : gpus()) {
    const double seconds = (d.memory / d.memory_bandwidth).value;
    EXPECT_GT(seconds, 0.01) << d.name;
    EXPECT_LT(seconds, d.name == "gb10" ? 0.5 : 0.1) << d.name;
  }
}

// Both directions together, as data sheets and product briefs have it, in GB/s.
TEST(Catalogue, NvlinksAddUpToTheDataSheets) {
  const std::map<int, double> of_switches = {
      {70, 300}, {80, 600}, {90, 900}, {100, 1800}, {103, 1800}};
  const std::map<std::string, double> others = {
      {"a800-80-sxm", 400}, {"a800-80-pcie", 400}, {"h800-sxm", 400}, {"h800-pcie", 400},
      {"h100-pcie", 600},   {"h100-nvl", 600},     {"a30", 200},      {"a40", 112.5},
      {"rtx-a6000", 112.5}, {"rtx-3090", 112.5}};
  for (const Device& d : gpus()) {
    if (d.nvlink_links == 0) continue;
    const auto other = others.find(d.name);
    const double total =
        other != others.end() ? other->second : of_switches.at(d.compute_capability);
    EXPECT_DOUBLE_EQ(2 * d.nvlink_bandwidth().value, total * 1e9) << d.name;
  }
}

TEST(Catalogue, DirectNvlinksAreNoMoreThanTheDeviceHas) {
  for (const auto& name : cluster_names()) {
    const NodeSpec node = find_node(name);
    std::vector<std::int64_t> used(static_cast<std::size_t>(node.devices));
    for (const MeshLink& m : node.mesh) {
      for (const std::int64_t end : {m.a, m.b}) used[static_cast<std::size_t>(end)] += m.links;
    }
    for (const std::int64_t n : used) EXPECT_LE(n, find_device(node.device).nvlink_links) << name;
  }
}

// NICs and a fabric, or neither; and the slots carry what the NICs do.
TEST(Catalogue, NodesWithNicsNameTheFabricThatUsuallyJoinsThem) {
  for (const auto& name : cluster_names()) {
    const NodeSpec node = find_node(name);
    EXPECT_EQ(node.nics > 0, !node.fabric.empty()) << name;
    if (node.nics == 0) continue;
    EXPECT_LE(find_fabric(node.fabric).bandwidth, node.pcie_bandwidth) << name;
  }
}

TEST(Catalogue, GraceReachesItsHopperOverTheLinkOfTheirModule) {
  for (const char* node : {"gh200", "gh200-4"}) {
    const Cluster c = make_cluster({.preset = node});
    EXPECT_EQ(c.host.link, LinkClass::kC2c) << node;
    EXPECT_DOUBLE_EQ(c.host.bandwidth.value, 450e9) << node;
  }
}

TEST(Catalogue, DevicesAreBiggerInEveryGeneration) {
  const Device a = find_device("a100-80-sxm"), h = find_device("h100-sxm"), b = find_device("b200");
  EXPECT_LT(a.peak_bf16, h.peak_bf16);
  EXPECT_LT(h.peak_bf16, b.peak_bf16);
  EXPECT_LT(a.nvlink_bandwidth(), h.nvlink_bandwidth());
  EXPECT_LT(find_device("h800-sxm").nvlink_bandwidth(), h.nvlink_bandwidth());
}

TEST(Catalogue, DeviceTableWritesWhatItReads) {
  for (const auto& name : device_names()) {
    const std::string text = device_table().write(find_device(name));
    Device again;
    const JsonDocument document = parse_json(text, name);
    device_table().read(document.root(), again);
    EXPECT_EQ(device_table().write(again), text);
  }
}

TEST(Catalogue, NodeTableWritesWhatItReads) {
  for (const auto& name : cluster_names()) {
    const std::string text = node_table().write(find_node(name));
    NodeSpec again;
    const JsonDocument document = parse_json(text, name);
    node_table().read(document.root(), again);
    EXPECT_EQ(node_table().write(again), text);
  }
}

TEST(Catalogue, UnknownNamesGetTheNearestOne) {
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h10"}); }), "C001");
  EXPECT_EQ(code_of([] { find_device("h100-sxn"); }), "C002");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .fabric = "ndr40"}); }), "C003");
  try {
    find_device("h100-sxn");
  } catch (const InputError& e) {
    EXPECT_NE(e.text().cure.find("h100-sxm"), std::string::npos);
  }
}

TEST(MakeCluster, RefusesSizesOutOfRange) {
  for (const std::int64_t nodes : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    EXPECT_EQ(code_of([&] { make_cluster({.preset = "hgx-h100", .nodes = nodes}); }), "C004");
  }
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .devices_per_node = 0}); }), "C004");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .nodes_per_pod = 0}); }), "C004");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .oversubscription = 0.5}); }), "C004");
}

TEST(MakeCluster, RefusesSlowdownsOfAbsentDevicesAndSpeedups) {
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .slowdowns = {{8, 1.1}}}); }), "C006");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .slowdowns = {{0, 0.5}}}); }), "C006");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .slowdowns = {{7, 1.1}}}); }), "");
}

TEST(MakeCluster, RefusesTwoSlowdownsOfADeviceAndNamesBoth) {
  try {
    make_cluster({.preset = "hgx-h100", .slowdowns = {{7, 1.1}, {3, 1.2}, {7, 1.5}}});
    FAIL() << "not refused";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "C006");
    EXPECT_EQ(e.text().problem, "slowdowns.0 and slowdowns.2 are both of device 7");
  }
}

TEST(MakeCluster, RefusesNodesThatNothingJoins) {
  NodeSpec node = find_node("hgx-h100");
  node.nics = 0;
  EXPECT_EQ(code_of([&] { make_cluster({.nodes = 2, .own_node = node}); }), "C007");
  EXPECT_EQ(code_of([&] { make_cluster({.nodes = 1, .own_node = node}); }), "");
}

TEST(MakeCluster, SaysWhatATorusWithoutDimensionsLacks) {
  Fabric torus = find_fabric("ndr400");
  torus.topology = Topology::kTorus;
  try {
    make_cluster({.preset = "hgx-h100", .nodes = 4, .own_fabric = torus});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().problem, "a torus without dimensions for 4 nodes, 1 on each");
  }
}

TEST(MakeCluster, RefusesADeviceWithoutNvlinkInAnNvlinkNode) {
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .device = find_device("l40s")}); }),
            "C008");
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .device = find_device("mi300x")}); }),
            "C008");  // another maker's links
}

}  // namespace plait::catalogue_test
