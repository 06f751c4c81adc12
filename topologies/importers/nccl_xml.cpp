#include "topologies/importers/nccl_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>

#include "core/error.h"
#include "topologies/importers/pcie_link.h"

namespace plait {
namespace {

constexpr std::string_view kNvSwitchClass = "0x068000", kPcieSwitchClass = "0x0604";
constexpr double kMbit = 1e6 / 8;  // bytes per second

/// The document, and where in it an element stands.
struct Source {
  std::string_view text;
  const std::string& file;

  int line_at(std::ptrdiff_t offset) const {
    const auto end = std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text));
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + end, '\n'));
  }
  [[noreturn]] void refuse(std::string code, std::string problem, std::ptrdiff_t offset,
                           std::string expected, std::string cure) const {
    throw InputError({.code = std::move(code),
                      .problem = std::move(problem),
                      .where = {file, line_at(offset), 0, ""},
                      .expected = std::move(expected),
                      .cure = std::move(cure)});
  }
  std::int64_t integer(const pugi::xml_node& node, const char* name) const {
    const char* const text_of = node.attribute(name).value();
    char* end = nullptr;
    const std::int64_t value = std::strtoll(text_of, &end, 10);
    if (*text_of != '\0' && *end == '\0' && value >= 0 && value < 1'000'000'000) return value;
    refuse("T009", fmt::format("{}=\"{}\" of <{}>", name, text_of, node.name()),
           node.offset_debug(), "a whole number, not negative",
           "dump the topology again (NCCL_TOPO_DUMP_FILE), or correct the attribute");
  }
};

std::string cpu_of(const pugi::xml_node& cpu) {
  const std::string arch = cpu.attribute("arch").value(), vendor = cpu.attribute("vendor").value();
  if (arch == "arm64") return "arm";
  if (vendor == "AuthenticAMD") return "amd";
  return vendor == "GenuineIntel" ? "intel" : "";
}

/// A GPU or NIC with what stands above it.
struct Endpoint {
  pugi::xml_node node;  // <gpu> or <nic>
  std::string busid;
  NodeFacts::Place place;
  BytesPerSecond bandwidth;  // of its PCIe link; 0 not said
};

struct Endpoints {
  std::vector<Endpoint> gpus, nics;
};

constexpr int kDeepest = 100;  // PCIe has 256 buses, in fewer levels than this

/// Depth first, as NCCL numbers devices and NICs.
void collect(const Source& source, const pugi::xml_node& above, const Endpoint& context,
             Endpoints& out, int depth = 0) {
  if (depth > kDeepest) {
    source.refuse("T009", fmt::format("<pci> in <pci>, over {} deep", kDeepest),
                  above.offset_debug(), "the PCIe switches of a machine",
                  "dump the topology again (NCCL_TOPO_DUMP_FILE)");
  }
  for (const pugi::xml_node& child : above.children()) {
    const std::string_view name = child.name();
    Endpoint here = context;
    here.node = child;
    if (name == "pci") {
      here.busid = child.attribute("busid").value();
      if (here.busid.empty()) {
        source.refuse("T009", "a <pci> without busid", child.offset_debug(),
                      "busid=\"0000:1b:00.0\"", "dump the topology again (NCCL_TOPO_DUMP_FILE)");
      }
      const std::string_view kind = child.attribute("class").value();
      if (kind.starts_with(kPcieSwitchClass) && here.place.pcie_switch.empty()) {
        here.place.pcie_switch = here.busid;
      }
      here.bandwidth = pcie_bandwidth_of(child.attribute("link_speed").value(),
                                         child.attribute("link_width").as_int());
      collect(source, child, here, out, depth + 1);
    } else if (name == "gpu") {
      out.gpus.push_back(here);
    } else if (name == "nic" && child.child("net")) {
      out.nics.push_back(here);
    }
  }
}

/// NVLinks onto switches and between pairs; both ends of a pair list it.
void add_nvlinks(const Source& source, const std::vector<Endpoint>& gpus, NodeFacts& facts) {
  std::map<std::string, std::int64_t> place;
  for (const Endpoint& g : gpus) place.emplace(g.busid, std::ssize(place));
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> pairs;
  for (std::int64_t i = 0; i < std::ssize(gpus); ++i) {
    std::int64_t onto_switches = 0;
    for (const pugi::xml_node& link : gpus[static_cast<std::size_t>(i)].node.children("nvlink")) {
      const std::int64_t count = source.integer(link, "count");
      const auto peer = place.find(link.attribute("target").value());
      if (std::string_view(link.attribute("tclass").value()).starts_with(kNvSwitchClass)) {
        onto_switches += count;
      } else if (peer != place.end() && peer->second != i && count > 0) {
        pairs[std::minmax(i, peer->second)] = count;
      }
    }
    facts.links_to_switches = std::max(facts.links_to_switches, onto_switches);
  }
  for (const auto& [pair, count] : pairs) facts.pairs.push_back({pair.first, pair.second, count});
}

void add_nics(const Source& source, const std::vector<Endpoint>& nics, NodeFacts& facts) {
  std::set<std::int64_t> speeds, rails;
  for (const Endpoint& nic : nics) {
    for (const pugi::xml_node& net : nic.node.children("net")) {
      facts.nics.push_back(nic.place);
      speeds.insert(source.integer(net, "speed"));
      facts.connectx = std::string_view(net.attribute("name").value()).starts_with("mlx");
      if (net.attribute("rail")) rails.insert(source.integer(net, "rail"));
    }
  }
  facts.rails = rails.size() > 1 ? std::ssize(rails) : 0;
  if (!speeds.empty() && *speeds.rbegin() > 0) {
    facts.nic_bandwidth = BytesPerSecond(static_cast<double>(*speeds.rbegin()) * kMbit);
  }
  if (speeds.size() > 1)
    facts.notes.emplace_back("NICs of several speeds: all taken as the fastest");
}

void add_devices(const Source& source, const std::vector<Endpoint>& gpus, NodeFacts& facts) {
  BytesPerSecond slowest;
  for (const Endpoint& g : gpus) {
    facts.devices.push_back(g.place);
    if (g.node.attribute("sm")) {
      const int capability = static_cast<int>(source.integer(g.node, "sm"));
      if (facts.compute_capability > 0 && capability != facts.compute_capability) {
        source.refuse("T015",
                      fmt::format("GPUs of compute capability {} and {} in one host",
                                  facts.compute_capability, capability),
                      g.node.offset_debug(), "one kind of GPU in a node",
                      "import the GPUs of each kind by themselves, and make nodes of them "
                      "(cluster.other_nodes)");
      }
      facts.compute_capability = capability;
    }
    if (g.bandwidth.value > 0 && (slowest.value <= 0 || g.bandwidth < slowest))
      slowest = g.bandwidth;
  }
  if (slowest.value > 0) facts.pcie_bandwidth = slowest;
  add_nvlinks(source, gpus, facts);
}

pugi::xml_node system_of(const Source& source, pugi::xml_document& document) {
  const pugi::xml_parse_result parsed =
      document.load_buffer(source.text.data(), source.text.size(), pugi::parse_default);
  if (!parsed) {
    source.refuse("T007", parsed.description(), parsed.offset, "well-formed XML",
                  "dump the topology again (NCCL_TOPO_DUMP_FILE)");
  }
  pugi::xml_node system = document.child("system");
  if (!system) {
    const bool log = document.child("nvidia_smi_log");
    source.refuse("T008", "the XML has no <system>", 0, "a topology of NCCL",
                  log ? "of nvidia-smi -q the text is read, without -x"
                      : "make one with NCCL_TOPO_DUMP_FILE=topology.xml");
  }
  std::set<std::string> hosts;
  for (const pugi::xml_node& cpu : system.children("cpu")) {
    hosts.insert(cpu.attribute("host_hash").value());
  }
  if (hosts.size() > 1) {
    source.refuse("T008", fmt::format("the topology is of {} hosts", hosts.size()),
                  system.offset_debug(), "one host",
                  "dump it from a job on one host, and set cluster.nodes");
  }
  return system;
}

}  // namespace

BytesPerSecond pcie_bandwidth_of(const std::string& link_speed, int lanes) {
  return pcie_bandwidth(std::strtod(link_speed.c_str(), nullptr) * 1e9, lanes);
}

NodeFacts read_nccl_xml(std::string_view text, const std::string& file) {
  const Source source{text, file};
  pugi::xml_document document;
  const pugi::xml_node system = system_of(source, document);
  NodeFacts facts;
  Endpoints ends;
  for (const pugi::xml_node& cpu : system.children("cpu")) {
    Endpoint context;
    context.place.numa = cpu.attribute("numaid").value();
    facts.cpu = cpu_of(cpu);
    collect(source, cpu, context, ends);
  }
  if (ends.gpus.empty()) {
    source.refuse("T008", "the topology has no <gpu>", system.offset_debug(),
                  "at least one <gpu> inside of a <pci>", "dump it from a job that uses the GPUs");
  }
  add_devices(source, ends.gpus, facts);
  add_nics(source, ends.nics, facts);
  return facts;
}

}  // namespace plait
