#include "topologies/catalogue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
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
      "host_slowdown", "matmul_yield"};
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

TEST(MakeCluster, RefusesNodesThatNothingJoins) {
  NodeSpec node = find_node("hgx-h100");
  node.nics = 0;
  EXPECT_EQ(code_of([&] { make_cluster({.nodes = 2, .own_node = node}); }), "C007");
  EXPECT_EQ(code_of([&] { make_cluster({.nodes = 1, .own_node = node}); }), "");
}

TEST(MakeCluster, RefusesADeviceWithoutNvlinkInAnNvlinkNode) {
  EXPECT_EQ(code_of([] { make_cluster({.preset = "hgx-h100", .device = find_device("l40s")}); }),
            "C008");
}

}  // namespace plait::catalogue_test
