// Lists of GPUs of nvidia-smi become the catalogue's node with what the list says differently.
#include "topologies/importers/gpu_list.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/split.h"
#include "tests/topologies/samples.h"
#include "topologies/importers/choose_device.h"
#include "topologies/importers/detect.h"
#include "topologies/importers/nvidia_smi.h"
#include "topologies/importers/pcie_link.h"
#include "topologies/importers/product_device.h"
#include "topologies/reported_names.h"

namespace plait::gpu_list_test {

ImportedNode imported(const std::string& text, const std::string& device = "") {
  EXPECT_EQ(detect_format(text, "f"), ImportFormat::kNvidiaSmi);
  NodeFacts facts = read_nvidia_smi(text, "f");
  facts.name = "f";
  return node_from(facts, {device});
}

std::int64_t devices(const ImportedNode& node) {
  return make_cluster({.device = node.device,
                       .own_node = node.node,
                       .devices_per_node = node.devices_per_node})
      .devices_per_node;
}

bool notes(const ImportedNode& node, const std::string& part) {
  return std::ranges::any_of(node.notes,
                             [&](const auto& n) { return n.find(part) != std::string::npos; });
}

/// The code and the line of what is refused; "" where nothing is.
std::pair<std::string, int> refusal(const std::string& text, const std::string& device = "") {
  try {
    node_from(read_nvidia_smi(text, "f"), {device});
  } catch (const InputError& e) {
    EXPECT_FALSE(e.text().expected.empty());
    EXPECT_FALSE(e.text().cure.empty());
    return {e.text().code, e.text().where.line};
  }
  return {"", 0};
}

/// A list of CSV with one column of names.
std::string named(const std::vector<std::string>& names) {
  std::string out = "name\n";
  for (const std::string& n : names) out += n + "\n";
  return out;
}

/// A row of the table of nvidia-smi.
std::string row(const std::string& first, const std::string& power, const std::string& memory,
                const std::string& mig = "N/A") {
  return "| " + first + " | 00000000:01:00.0 Off | 0 |\n| N/A 29C P0 54W / " + power +
         " | 3MiB / " + memory + " | 0% Default |\n|  |  | " + mig + " |\n";
}

struct Expected {
  std::string file, device, preset;
  std::int64_t devices;
  double watts;
};

TEST(GpuList, EachSampleIsTheNodeWithItsDevices) {
  const std::vector<Expected> all = {
      {"smi-log-8xh100.txt", "h100-sxm", "hgx-h100", 8, 500},
      {"smi-csv-8xa100.txt", "a100-80-sxm", "dgx-a100", 8, 400},
      {"smi-table-4xa100.txt", "a100-40-sxm", "dgx-a100", 4, 400},
      {"smi-table-mig.txt", "h100-sxm", "hgx-h100", 2, 700},
      {"smi-names-mig.txt", "a100-40-sxm", "dgx-a100", 4, 400},
      {"smi-rtx-and-topo.txt", "rtx-4090", "rtx-4090-8", 2, 350},
  };
  for (const Expected& e : all) {
    SCOPED_TRACE(e.file);
    const ImportedNode node = imported(sample(e.file));
    EXPECT_EQ(node.device.name, e.device);
    EXPECT_EQ(node.preset, e.preset);
    EXPECT_EQ(devices(node), e.devices);
    EXPECT_EQ(node.device.power.value, e.watts);
    EXPECT_EQ(node.device.memory, find_device(e.device).memory);
    EXPECT_EQ(notes(node, "nvidia-smi topo -m"), e.file != "smi-rtx-and-topo.txt");
    EXPECT_EQ(notes(node, "MIG is on in 1 of"), e.file.ends_with("mig.txt"));
  }
}

TEST(GpuList, AFullNodeOfTheCatalogueIsThatNode) {
  EXPECT_EQ(cluster_json(imported(sample("smi-csv-8xa100.txt"))),
            R"({"preset":"dgx-a100","node":{"name":"f"}})");
}

TEST(GpuList, TheMatrixSaysHowAndTheListWhat) {
  const ImportedNode node = imported(sample("smi-rtx-and-topo.txt"));
  EXPECT_EQ(node.node.sockets, 1);  // the matrix has one NUMA node, the preset two
  EXPECT_EQ(node.node.pcie_bandwidth, BytesPerSecond(15.75e9));  // 16 GT/s over 8 lanes
  EXPECT_TRUE(notes(node, "8 of 16 lanes"));
}

TEST(GpuList, EndsOfLinesPrefixesAndIndentationDoNotMatter) {
  const std::string text = sample("smi-log-8xh100.txt");
  std::string windows, launched, flat;
  for (const TextLine& l : lines_of(text)) {
    windows += l.text + "\r\n";
    launched += "[1,0]<stdout>:" + l.text + "\n";
    flat += std::string(trimmed(l.text)) + "\n";
  }
  const std::string expected = cluster_json(imported(text));
  EXPECT_EQ(cluster_json(imported(windows)), expected);
  EXPECT_EQ(cluster_json(imported(launched)), expected);
  EXPECT_EQ(cluster_json(imported(flat)), expected);
  EXPECT_EQ(cluster_json(imported("\xEF\xBB\xBF" + text)), expected);
}

TEST(GpuList, AShortenedLogCountsWhatIsAttached) {
  const std::string text = sample("smi-log-8xh100.txt");
  const std::size_t second = text.find("GPU 00000000:2B");
  const ImportedNode node = imported(text.substr(0, second));
  EXPECT_EQ(devices(node), 8);
  EXPECT_TRUE(notes(node, "8 GPUs are attached, and 1 shown"));
}

TEST(GpuList, WhatIsListedAgainCountsOnce) {
  const std::string text = sample("smi-names-mig.txt");
  const ImportedNode node = imported(text + text);
  EXPECT_EQ(devices(node), 4);
  EXPECT_TRUE(notes(node, "4 GPUs are listed again"));
}

// A MIG device has memory of its own, less than its GPU.
TEST(GpuList, MemoryOfMigDevicesIsNotTheGpus) {
  const ImportedNode node = imported(
      "Attached GPUs : 1\nGPU 00000000:1A:00.0\n Product Name : NVIDIA H100 80GB HBM3\n MIG Mode\n"
      " Current : Enabled\n MIG Device\n FB Memory Usage\n Total : 9984 MiB\n Reserved : 1 MiB\n"
      " FB Memory Usage\n Total : 81559 MiB\n Reserved : 551 MiB\n");
  EXPECT_EQ(node.device.memory, find_device("h100-sxm").memory);
  EXPECT_TRUE(notes(node, "MIG is on in 1 of 1"));
}

TEST(GpuList, LimitsCountWhereTheyAreLowerAndMemoryWhereItDiffers) {
  const auto with = [](const std::string& watts, const std::string& mib) {
    return imported(
               "name, enforced.power.limit [W], power.limit [W], memory.total [MiB], "
               "memory.reserved [MiB]\nNVIDIA L40S, " +
               watts + ", 350.00 W, " + mib + ", 1000 MiB\n")
        .device;
  };
  const Device sheet = find_device("l40s");                     // 350 W, 44.4 GiB
  EXPECT_EQ(with("347.00 W", "46068 MiB").power, sheet.power);  // within 1 %
  EXPECT_EQ(with("300.00 W", "46068 MiB").power, Watts(300));
  EXPECT_EQ(with("400.00 W", "46068 MiB").power, sheet.power);
  EXPECT_EQ(with("[N/A]", "46068 MiB").power, sheet.power);
  EXPECT_EQ(with("300", "46068").power, Watts(300));  // nounits
  EXPECT_EQ(with("300", "46068").memory, sheet.memory);
  EXPECT_EQ(with("300", "24000").memory, Bytes(std::int64_t{23000} << 20));
  EXPECT_EQ(with("300", "[Not Supported]").memory, sheet.memory);
}

TEST(GpuList, OfDifferentLimitsTheLowestCounts) {
  const ImportedNode node =
      imported("name, power.limit [W]\nNVIDIA L40S, 300.00 W\nNVIDIA L40S, 250.00 W\n");
  EXPECT_EQ(node.device.power, Watts(250));
  EXPECT_TRUE(notes(node, "power limits from 250 W to 300 W"));
}

TEST(GpuList, PcieIsTheHighestGenerationOverTheLanesInUse) {
  const auto with = [](const std::string& name, const std::string& values) {
    return imported(
        "pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, "
        "pcie.link.width.max, name\n1, " +
        values + ", " + name + "\n");
  };
  EXPECT_EQ(with("NVIDIA L40S", "4, 16, 16").device.pcie_bandwidth,
            find_device("l40s").pcie_bandwidth);
  EXPECT_NEAR(with("NVIDIA L40S", "3, 8, 16").node.pcie_bandwidth.value, 8e9 * 128 / 130, 1e7);
  EXPECT_NEAR(with("NVIDIA H100 PCIe", "5, 16, 16").node.pcie_bandwidth.value, 63e9, 0.1e9);
  // The processor is on the same module.
  EXPECT_EQ(with("NVIDIA GH200 480GB", "3, 1, 16").node.pcie_bandwidth,
            find_node("gh200").pcie_bandwidth);
  // 242 bytes of a flit of 256 are payload: what the catalogue has for B300.
  EXPECT_NEAR(pcie_bandwidth_of_generation(6, 16).value, 121e9, 0.1e9);
  EXPECT_EQ(pcie_bandwidth_of_generation(7, 16).value, 0);
  EXPECT_EQ(pcie_bandwidth_of_generation(5, 0).value, 0);
}

TEST(GpuList, WithoutAHeaderTheCommandOrTheNamesTell) {
  const std::string values =
      "0, NVIDIA L40S, 46068 MiB, 200.00 W\n1, NVIDIA L40S, 46068 MiB, "
      "200.00 W\n";
  const ImportedNode bare = imported(values);
  EXPECT_EQ(devices(bare), 2);
  EXPECT_EQ(bare.device.power, find_device("l40s").power);  // 200 W may be a draw
  EXPECT_TRUE(notes(bare, "without a header"));
  const ImportedNode told = imported(
      "$ nvidia-smi --query-gpu=index,name,memory.total,power.limit --format=csv,noheader\n" +
      values);
  EXPECT_EQ(told.device.power, Watts(200));
  EXPECT_FALSE(notes(told, "without a header"));
}

TEST(GpuList, OtherTextsAreNotTaken) {
  for (const char* text : {"", "hello, world\n", "name, layers\ngpt2, 12\n", "index\n1\n",
                           "name,world_size,step_time_s\nx,8,1\n", "I use NVIDIA H200 and so on"}) {
    EXPECT_FALSE(lists_gpus(text)) << text;
  }
  EXPECT_TRUE(lists_gpus("name\nNVIDIA L45\n"));
  EXPECT_TRUE(lists_gpus("NVIDIA L45, 100 MiB\n"));
}

TEST(GpuList, TextBehindTheListIsNotOfIt) {
  EXPECT_EQ(devices(imported(named({"NVIDIA L40S", "NVIDIA L40S"}) + "\nThanks, all\n")), 2);
  EXPECT_EQ(devices(imported("```\n" + named({"NVIDIA L40S"}) + "```\nThanks, all\n")), 1);
}

TEST(GpuList, ACutOffNameCountsWhereOneDeviceFits) {
  const auto cut = [](const std::string& name, const std::string& memory) {
    return imported("| NVIDIA-SMI 470.1 |\n" + row("0  " + name + "  On", "N/A", memory))
        .device.name;
  };
  EXPECT_EQ(cut("NVIDIA A100-SXM...", "40536MiB"), "a100-40-sxm");
  EXPECT_EQ(cut("NVIDIA A100-SXM...", "81251MiB"), "a100-80-sxm");
  EXPECT_EQ(cut("NVIDIA H100 80G...", "81559MiB"), "h100-sxm");
  EXPECT_EQ(cut("Tesla V100-SXM2...", "32510MiB"), "v100-sxm2-32");
  EXPECT_EQ(cut("A100-SXM4-40GB", "40536MiB"), "a100-40-sxm");  // drivers before 465
  EXPECT_EQ(cut("NVIDIA GeForce RTX 5080  ", "16303MiB"), "rtx-5080");
  EXPECT_EQ(refusal("| NVIDIA-SMI 470.1 |\n" + row("0 NVIDIA GeForce ... WDDM", "N/A", "24576MiB")),
            std::pair(std::string("T016"), 2));  // RTX 3090 and 4090 both
}

TEST(GpuList, ProductsAreNamedLikeTheReportsOfDrivers) {
  EXPECT_EQ(devices_reported_like("NVIDIA RTX PRO 6000...").size(), 1U);  // two names, one device
  EXPECT_TRUE(devices_reported_like("...").empty());
  EXPECT_TRUE(devices_reported_like("").empty());
  EXPECT_TRUE(devices_reported_like("NVIDIA H100").empty());  // of 64 GB, and of 96
}

TEST(GpuList, CardsAreInAnOrdinaryServerAndBoardsInTheirMakers) {
  const auto node = [](const std::string& device, std::int64_t devices = 8) {
    return usual_node(find_device(device), devices);
  };
  EXPECT_EQ(node("a100-80-pcie"), "pcie-8");
  EXPECT_EQ(node("h100-pcie"), "pcie-8");
  EXPECT_EQ(node("h100-nvl"), "h100-nvl-8");
  EXPECT_EQ(node("v100-sxm2-16"), "dgx-v100");
  EXPECT_EQ(node("v100-sxm3-32"), "dgx-2");
  EXPECT_EQ(node("h800-sxm"), "hgx-h100");
  EXPECT_EQ(node("h200-sxm"), "hgx-h200");
  EXPECT_EQ(node("h200-sxm", 2), "hgx-h200");  // gpu-parts has two
  EXPECT_EQ(node("gh200-96", 4), "gh200-4");
  EXPECT_EQ(node("gh200-144", 1), "gh200");
  EXPECT_EQ(node("gb10", 1), "dgx-spark");
}

TEST(GpuList, EveryReportedDeviceHasANodeOfWhichAFewAreMade) {
  for (const std::string& name : device_names()) {
    if (find_device(name).compute_capability == 0) continue;
    for (const std::int64_t count : {1, 3, 4, 8}) {
      SCOPED_TRACE(name);
      NodeFacts facts;
      facts.links_hidden = true;
      facts.devices.resize(static_cast<std::size_t>(count));
      EXPECT_EQ(devices(node_from(facts, {name})), count);
    }
  }
}

TEST(GpuList, ADeviceThatIsNamedWins) {
  const ImportedNode node = imported(named({"NVIDIA L40S", "NVIDIA L4"}), "a10");
  EXPECT_EQ(node.device.name, "a10");
  EXPECT_TRUE(notes(node, "1 NVIDIA L40S, 1 NVIDIA L4 taken to be a10"));
  EXPECT_EQ(imported(named({"NVIDIA L40S"}), "l40s").notes.size(), 1U);  // of the links
  EXPECT_EQ(imported("Attached GPUs : 2\nGPU 00000000:01:00.0\n", "a10").device.name, "a10");
}

TEST(GpuList, WhatIsWrongHasACodeAndALine) {
  using Refusal = std::pair<std::string, int>;
  const std::string title = "name, power.limit [W]\n";
  EXPECT_EQ(refusal("No devices were found\n"), Refusal("T013", 0));
  EXPECT_EQ(refusal("| NVIDIA-SMI 470.1   Driver Version: 470.1 |\n"), Refusal("T013", 0));
  EXPECT_EQ(refusal("Attached GPUs : 0\n"), Refusal("T013", 0));
  EXPECT_EQ(refusal("name, index\n"), Refusal("T013", 0));
  EXPECT_EQ(refusal(title + "NVIDIA L40S, 3O0.00 W\n"), Refusal("T014", 2));
  EXPECT_EQ(refusal(title + "NVIDIA L40S, -5 W\n"), Refusal("T014", 2));
  EXPECT_EQ(refusal(title + "NVIDIA L40S, 5 MiB\n"), Refusal("T014", 2));
  EXPECT_EQ(refusal(title + "NVIDIA L40S, 300 W, 1\n"), Refusal("T014", 2));
  EXPECT_EQ(refusal("Attached GPUs : 8x8\n"), Refusal("T014", 1));
  EXPECT_EQ(refusal(named({"NVIDIA L40S", "NVIDIA L4"})), Refusal("T015", 3));
  EXPECT_EQ(refusal(named({"NVIDIA L40S", "NVIDIA L45"})), Refusal("T015", 3));
  EXPECT_EQ(refusal(named({"NVIDIA L45"})), Refusal("T016", 2));
  EXPECT_EQ(refusal("0, NVIDIA L45, 46068 MiB\n"), Refusal("T016", 1));
  EXPECT_EQ(refusal("0, 46068 MiB\n"), Refusal("T017", 1));
  EXPECT_EQ(refusal("Attached GPUs : 1\nGPU 00000000:01:00.0\n"), Refusal("T011", 0));
  EXPECT_EQ(refusal("hello\n"), Refusal("T003", 0));
}

/// Lines of the samples in any order, some cut off, some with other characters.
RC_GTEST_PROP(GpuList, MixedLinesAreReadOrRefused, ()) {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> out;
    for (const char* name : {"smi-log-8xh100.txt", "smi-csv-8xa100.txt", "smi-table-mig.txt",
                             "smi-names-mig.txt", "smi-rtx-and-topo.txt"}) {
      for (const TextLine& l : lines_of(sample(name))) out.push_back(l.text);
    }
    return out;
  }();
  std::string text;
  const auto picks =
      *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, lines.size()));
  for (const std::size_t pick : picks) {
    std::string line = lines[pick];
    const auto how = *rc::gen::inRange(0, 8);
    if (how == 0) line.resize(*rc::gen::inRange<std::size_t>(0, line.size() + 1));
    if (how == 1 && !line.empty()) {
      line[*rc::gen::inRange<std::size_t>(0, line.size())] = *rc::gen::arbitrary<char>();
    }
    text += line + "\n";
  }
  refusal(text, "h100-sxm");
  lists_gpus(text);
}

RC_GTEST_PROP(GpuList, AnyBytesAreReadOrRefused, (const std::string& text)) {
  refusal("name, power.limit [W]\n" + text, "h100-sxm");
  refusal("Attached GPUs : 1\n" + text, "h100-sxm");
  lists_gpus(text);
}

TEST(GpuList, NoPrefixOfASampleCrashes) {
  for (const std::string name : {"smi-log-8xh100.txt", "smi-csv-8xa100.txt", "smi-table-mig.txt"}) {
    const std::string text = sample(name);
    for (std::size_t n = 0; n < text.size(); n += 61) refusal(text.substr(0, n), "h100-sxm");
  }
}

}  // namespace plait::gpu_list_test
