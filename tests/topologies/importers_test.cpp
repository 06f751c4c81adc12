// What is imported has the links that the file speaks of: samples in tests/topologies/samples.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "tests/topologies/samples.h"
#include "topologies/importers/choose_device.h"
#include "topologies/importers/detect.h"
#include "topologies/importers/lines.h"
#include "topologies/importers/nccl_xml.h"
#include "topologies/importers/nvidia_smi.h"
#include "topologies/node_spec.h"
#include "topologies/summary.h"

namespace plait::importers_test {

ImportedNode imported(const std::string& name, const std::string& device = "") {
  const std::string text = sample(name);
  NodeFacts facts = detect_format(text, name) == ImportFormat::kNcclXml
                        ? read_nccl_xml(text, name)
                        : read_nvidia_smi(text, name);
  facts.name = name;
  return node_from(facts, {device});
}

TopologySummary shown(const ImportedNode& node) {
  return summarize(make_cluster({.device = node.device, .own_node = node.node}));
}

std::int64_t count(const TopologySummary& s, VertexKind kind) {
  const auto at = std::ranges::find(s.vertices, kind, &VertexCount::kind);
  return at == s.vertices.end() ? 0 : at->count;
}

/// NVLinks of the whole node: bandwidth in links of the device.
double nvlinks(const TopologySummary& s, const Device& device) {
  double sum = 0;
  for (const LinkCount& l : s.links) {
    if (l.link == LinkClass::kNvlink) sum += l.total() / device.nvlink_link_bandwidth;
  }
  return sum;
}

std::string code_of(const std::string& text, int* line = nullptr, const std::string& device = "") {
  try {
    const NodeFacts facts = detect_format(text, "f") == ImportFormat::kNcclXml
                                ? read_nccl_xml(text, "f")
                                : read_nvidia_smi(text, "f");
    node_from(facts, {device});
  } catch (const InputError& e) {
    EXPECT_FALSE(e.text().expected.empty());
    EXPECT_FALSE(e.text().cure.empty());
    if (line != nullptr) *line = e.text().where.line;
    return e.text().code;
  }
  return "";
}

struct Expected {
  std::string file, device;
  Family family;
  std::int64_t devices, sockets, switches, nics;
  double links;  // of all devices; those between two devices count once
};

TEST(Import, EachSampleIsShownWithItsLinks) {
  const std::vector<Expected> all = {
      {"hgx-h100.txt", "h100-sxm", Family::kNvSwitch, 8, 2, 4, 8, 8 * 18},
      {"dgx-a100.txt", "a100-80-sxm", Family::kNvSwitch, 8, 4, 4, 8, 8 * 12},
      {"dgx-v100-spaces.txt", "v100-sxm2-32", Family::kNvlinkMesh, 8, 2, 4, 4, 24},
      {"a100-4-mesh.txt", "a100-80-sxm", Family::kNvlinkMesh, 4, 1, 0, 0, 6 * 4},
      {"a100-pcie-bridges.txt", "a100-80-sxm", Family::kNvlinkMesh, 4, 2, 0, 0, 2 * 12},
      {"h100-gpus-missing.txt", "h100-sxm", Family::kNvSwitch, 3, 1, 0, 0, 3 * 18},
      {"gb200-tray.txt", "gb200", Family::kNvlinkDomain, 4, 2, 0, 4, 4 * 18},
      {"hgx-h100.xml", "h100-sxm", Family::kNvSwitch, 8, 2, 4, 8, 8 * 18},
      {"dgx-v100.xml", "v100-sxm2-32", Family::kNvlinkMesh, 8, 2, 4, 0, 24},
      {"l40s.xml", "l40s", Family::kPcie, 2, 1, 0, 1, 0},
      {"pcie-8.txt", "l40s", Family::kPcie, 8, 2, 2, 0, 0},
      {"one-gpu.txt", "rtx-4090", Family::kPcie, 1, 1, 0, 0, 0},
  };
  for (const Expected& e : all) {
    SCOPED_TRACE(e.file);
    // A matrix does not name its devices; NCCL's XML has their compute capability.
    const ImportedNode node = imported(e.file, e.file.ends_with(".xml") ? "" : e.device);
    const TopologySummary s = shown(node);
    EXPECT_EQ(node.device.name, e.device);
    EXPECT_EQ(node.node.family, e.family);
    EXPECT_EQ(count(s, VertexKind::kDevice), e.devices);
    EXPECT_EQ(count(s, VertexKind::kHost), e.sockets);
    EXPECT_EQ(count(s, VertexKind::kPcieSwitch), e.switches);
    EXPECT_EQ(count(s, VertexKind::kNic), e.nics);
    EXPECT_DOUBLE_EQ(nvlinks(s, node.device), e.links);
  }
}

TEST(Import, TheMatrixOfACatalogueNodeIsThatNode) {
  const NodeSpec mesh = imported("dgx-v100.xml").node;
  const auto bandwidths = [](const NodeSpec& node) {
    const Cluster c = make_cluster({.own_node = node});
    std::vector<double> out;
    for (std::int64_t a = 0; a < 8; ++a) {
      for (std::int64_t b = 0; b < 8; ++b) out.push_back(route(c, a, b).bandwidth.value);
    }
    return out;
  };
  EXPECT_EQ(bandwidths(mesh), bandwidths(find_node("dgx-v100")));
  EXPECT_EQ(cluster_json(imported("hgx-h100.xml")),
            R"({"preset":"hgx-h100","node":{"name":"hgx-h100.xml"}})");
}

using Kind = NvlinkReading::Kind;

TEST(Import, AMatrixFillsWhatItDoesNotSayFromTheNodeOfSuchBoardsOrCards) {
  struct Choice {
    std::string device;
    Kind kind;
    std::string node;
  };
  const std::vector<Choice> all = {
      {"h100-pcie", Kind::kNone, "pcie-8"},       {"h100-sxm", Kind::kNone, "hgx-h100"},
      {"h100-pcie", Kind::kMesh, "h100-nvl-8"},   {"h100-nvl", Kind::kMesh, "h100-nvl-8"},
      {"a100-80-pcie", Kind::kMesh, "pcie-8"},    {"h800-sxm", Kind::kSwitch, "hgx-h100"},
      {"h100-96-sxm", Kind::kSwitch, "hgx-h100"}, {"h200-nvl", Kind::kMesh, "h100-nvl-8"},
      {"h200-nvl", Kind::kSwitch, "hgx-h200"},    {"a800-80-sxm", Kind::kSwitch, "dgx-a100"},
      {"v100-sxm2-16", Kind::kMesh, "dgx-v100"},  {"gh200-96", Kind::kMesh, "gh200-4"},
      {"gh200-144", Kind::kSwitch, "gh200"},      {"gb200", Kind::kSwitch, "gb200-nvl72"},
      {"rtx-3090", Kind::kMesh, "pcie-8"},        {"rtx-5090", Kind::kNone, "pcie-8"},
      {"rtx-4090", Kind::kNone, "rtx-4090-8"},
  };
  for (const Choice& c : all) EXPECT_EQ(usual_node(find_device(c.device), 8, c.kind), c.node);
}

TEST(Import, NoMatrixIsOfPartsOfAGpuNorOfGraceWhereTheDeviceIsNot) {
  for (const std::string& name : device_names()) {
    const Device device = find_device(name);
    if (device.compute_capability == 0) continue;
    for (const Kind kind : {Kind::kNone, Kind::kMesh, Kind::kSwitch}) {
      for (const std::int64_t devices : {1, 2, 4, 8}) {
        const NodeSpec node = find_node(usual_node(device, devices, kind));
        SCOPED_TRACE(name + " in " + node.name);
        EXPECT_NE(node.family, Family::kGpuParts);
        const bool on_grace = find_device(node.device).host_link == LinkClass::kC2c;
        EXPECT_TRUE(!on_grace || device.host_link == LinkClass::kC2c);
      }
    }
  }
}

TEST(Import, CardsWithoutNvlinkAreInTheNodeThatTheirListAloneGives) {
  const std::string matrix = "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n";
  const std::string list = "GPU 0: NVIDIA H100 PCIe (UUID: 0)\nGPU 1: NVIDIA H100 PCIe (UUID: 1)\n";
  EXPECT_EQ(node_from(read_nvidia_smi(matrix + list, "f"), {}).preset, "pcie-8");
  EXPECT_EQ(node_from(read_nvidia_smi(list, "f"), {}).preset, "pcie-8");
}

TEST(Import, GuessesAreSaid) {
  const ImportedNode node = imported("hgx-h100.txt");
  EXPECT_EQ(node.device.name, "h100-sxm");
  ASSERT_FALSE(node.notes.empty());
  EXPECT_NE(node.notes[0].find("h200-sxm"), std::string::npos);
  const ImportedNode far = imported("dgx-a100.txt", "a100-80-sxm");
  EXPECT_TRUE(std::ranges::any_of(
      far.notes, [](const auto& n) { return n.find("2 of 10 NICs") != std::string::npos; }));
}

TEST(Import, DevicesOutOfOrderAreSaid) {
  NodeFacts facts;
  facts.devices = {{"0", ""}, {"1", ""}, {"0", ""}, {"1", ""}};
  EXPECT_EQ(node_from(facts, {"l40s"}).notes.size(), 1U);
  facts.devices = {{"0", ""}, {"0", ""}, {"1", ""}, {"1", ""}};
  EXPECT_TRUE(node_from(facts, {"l40s"}).notes.empty());
}

TEST(Import, LinksThatTheDeviceDoesNotHaveAreTaken) {
  const ImportedNode node = imported("a100-pcie-bridges.txt", "h100-sxm");
  EXPECT_EQ(node.device.nvlink_links, 12);
  EXPECT_GT(imported("a100-pcie-bridges.txt").node.nvlink_latency.value, 0);
  EXPECT_DOUBLE_EQ(nvlinks(shown(node), node.device), 2 * 12);
}

TEST(Import, PcieBandwidthFollowsFromTheRateAndTheLanes) {
  EXPECT_NEAR(pcie_bandwidth_of("16.0 GT/s PCIe", 16).value, 31.5e9, 0.1e9);
  EXPECT_DOUBLE_EQ(pcie_bandwidth_of("5 GT/s", 4).value, 2e9);
  EXPECT_EQ(pcie_bandwidth_of("Unknown", 16).value, 0);
  const ImportedNode node = imported("l40s.xml");
  EXPECT_NEAR(node.node.pcie_bandwidth.value, 31.5e9 / 2, 0.1e9);
  EXPECT_EQ(find_fabric(node.fabric).bandwidth.value, 100e9 / 8);
}

TEST(Import, WhatIsWrongHasACodeAndALine) {
  const std::string head = "\tGPU0\tGPU1\tCPU Affinity\n", one = "GPU0\t X \tNV12\t0-3\n";
  int line = 0;
  EXPECT_EQ(code_of("hello"), "T002");
  EXPECT_EQ(code_of(" \n"), "T002");
  EXPECT_EQ(code_of("Legend:\n"), "T003");
  EXPECT_EQ(code_of(head + one), "T004");
  EXPECT_EQ(code_of(head + one + "GPU1\tNV12\n", &line), "T004");
  EXPECT_EQ(line, 3);
  EXPECT_EQ(code_of(head + one + "GPU1\tNVx\t X \t0-3\n", &line), "T005");
  EXPECT_EQ(line, 3);
  EXPECT_EQ(code_of(head + one + "GPU1\tNV4\t X \t0-3\n"), "T006");
  EXPECT_EQ(code_of("<system>\n<cpu>\n</system>", &line), "T007");
  EXPECT_EQ(line, 3);
  EXPECT_EQ(code_of("<graph/>"), "T008");
  EXPECT_EQ(code_of("<system><cpu/></system>"), "T008");
  EXPECT_EQ(code_of("<system>\n<cpu><pci><gpu/></pci></cpu></system>", &line), "T009");
  EXPECT_EQ(line, 2);
  EXPECT_EQ(code_of("<system><cpu><pci busid=\"a\"><gpu sm=\"x\"/></pci></cpu></system>"), "T009");
  EXPECT_EQ(code_of("<system><cpu><pci busid=\"a\"><gpu dev=\"0\" sm=\"89\"/></pci>"
                    "<pci busid=\"b\"><gpu dev=\"1\" sm=\"86\"/></pci></cpu></system>"),
            "T015");
  std::string deep = "<system><cpu>";
  for (int i = 0; i < 200'000; ++i) deep += "<pci busid=\"a\">";
  deep += "<gpu/>";
  for (int i = 0; i < 200'000; ++i) deep += "</pci>";
  EXPECT_EQ(code_of(deep + "</cpu></system>"), "T009");
  EXPECT_EQ(code_of(sample("pcie-8.txt")), "T011");
}

TEST(Import, NoPrefixOfASampleCrashes) {
  for (const std::string name : {"hgx-h100.txt", "dgx-v100-spaces.txt", "dgx-v100.xml"}) {
    const std::string text = sample(name);
    for (std::size_t n = 0; n < text.size(); n += 97)
      code_of(text.substr(0, n), nullptr, "h100-sxm");
  }
}

TEST(Lines, LoseColoursAndPrefixes) {
  const auto lines = lines_of("[1,0]<stdout>:a\r\n\x1b[4;1mb\x1b[0m\n3: c");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[1].text, "b");
  EXPECT_EQ(lines[2].text, "c");
  EXPECT_EQ(lines[2].number, 3);
}

}  // namespace plait::importers_test
