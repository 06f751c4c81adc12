#include "reports/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "topologies/catalogue.h"

namespace plait::topology_test {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++count;
  }
  return count;
}

TEST(TopologyJson, SaysWhatTheSummarySays) {
  const TopologySummary s = summarize(make_cluster({.preset = "dgx-a100", .nodes = 2}));
  const auto json = nlohmann::json::parse(topology_json(s));
  EXPECT_EQ(json["devices"], 16);
  ASSERT_EQ(json["links"].size(), s.links.size());
  for (std::size_t i = 0; i < s.links.size(); ++i) {
    EXPECT_EQ(json["links"][i]["total_Bps"], s.links[i].total().value);
  }
  EXPECT_EQ(json["bisection"][0]["bandwidth_Bps"], s.cuts[0].bandwidth.value);
  EXPECT_EQ(json["diameter"]["hops"], s.diameter.hops);
}

TEST(TopologyDot, HasALineForEachVertexAndLink) {
  const Cluster c = make_cluster({.preset = "dgx-v100", .nodes = 2});
  const TopologySummary s = summarize(c);
  std::int64_t vertices = 0, links = 0;
  for (const VertexCount& v : s.vertices) vertices += v.count;
  for (const LinkCount& l : s.links) links += l.count;
  const std::string dot = topology_dot(expand(*c.graph), c.name);
  EXPECT_EQ(count_of(dot, " -- "), static_cast<std::size_t>(links));
  EXPECT_EQ(count_of(dot, ";\n"), static_cast<std::size_t>(vertices + links));
}

TEST(TopologySvg, DrawsEveryDeviceAndArcOfANode) {
  const Cluster c = make_cluster({.preset = "dgx-v100"});
  const std::string svg = topology_svg(c, summarize(c));
  EXPECT_EQ(count_of(svg, ">GPU "), 8U);
  EXPECT_EQ(count_of(svg, ">NIC "), 4U);
  EXPECT_EQ(count_of(svg, "<path"), 16U);  // the pairs of the hybrid cube mesh
}

TEST(TopologySvg, DrawsTraysOnceAndPodsOnce) {
  const Cluster rack = make_cluster({.preset = "gb200-nvl72"});
  const std::string svg = topology_svg(rack, summarize(rack));
  EXPECT_EQ(count_of(svg, ">GPU "), 2U);
  EXPECT_EQ(count_of(svg, ">x 36<"), 1U);
  const Cluster large = make_cluster({.preset = "hgx-h100", .nodes = 128});
  EXPECT_EQ(count_of(topology_svg(large, summarize(large)), "4 pods, each like this"), 1U);
}

TEST(TopologySvg, SaysWhichNodesAreOfWhichKind) {
  const Cluster alike = make_cluster({.preset = "hgx-h100", .nodes = 2});
  EXPECT_EQ(count_of(topology_svg(alike, summarize(alike)), ">Each of 2 nodes<"), 1U);
  const NodeSpec node = find_node("dgx-a100");
  const Cluster c = make_cluster(
      {.preset = "hgx-h100", .nodes = 5, .other_nodes = {{3, 3, node, find_device(node.device)}}});
  const std::string svg = topology_svg(c, summarize(c));
  EXPECT_EQ(count_of(svg, ">Nodes 0 to 2, 4: 8 x h100-sxm each<"), 1U) << svg;
  EXPECT_EQ(count_of(svg, ">Node 3: 8 x a100-80-sxm<"), 1U) << svg;
}

}  // namespace plait::topology_test
