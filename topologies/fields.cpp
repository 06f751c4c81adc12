#include "core/fields.h"

#include "topologies/catalogue.h"

namespace plait {
namespace {

using Rate = Amount<FlopsPerSecond>;
using Bandwidth = Amount<BytesPerSecond>;
constexpr double kLongestHop = 1;  // second

Sourced<Bandwidth> bandwidth() { return {Bandwidth{.min = 1}}; }
Sourced<Bandwidth> bandwidth_or_none() { return {Bandwidth{}}; }  // 0: no such link
Sourced<Amount<Seconds>> latency() { return {Amount<Seconds>{.max = kLongestHop}}; }
Sourced<Int> count(std::int64_t least, std::int64_t most) { return {Int{least, most}}; }

/// Of cables: between parts of a GPU the link is its memory.
Choice<LinkClass> link_classes() {
  Choice<LinkClass> out;
  for (int c = 0; c < kLinkClasses; ++c) {
    const auto link = static_cast<LinkClass>(c);
    if (link != LinkClass::kDeviceMemory) out.values.emplace_back(name_of(link), link);
  }
  return out;
}

Choice<Family> families() {
  return {{{"nvswitch", Family::kNvSwitch},
           {"nvlink_mesh", Family::kNvlinkMesh},
           {"nvlink_domain", Family::kNvlinkDomain},
           {"pcie", Family::kPcie},
           {"shared_memory", Family::kHost},
           {"gpu_parts", Family::kGpuParts}}};
}

Choice<Spreading> spreadings() {
  return {{{"even", Spreading::kEven}, {"hash", Spreading::kHash}}};
}

Choice<Topology> topologies() {
  return {{{"rail_optimised", Topology::kRailOptimised},
           {"fat_tree", Topology::kFatTree},
           {"dragonfly", Topology::kDragonfly},
           {"torus", Topology::kTorus}}};
}

const Table<MeshLink>& mesh_table() {
  static const Table<MeshLink> table(
      "node.mesh",
      {
          field("a", &MeshLink::a, Int{.min = 0}, "Place of one device in the node.").required(),
          field("b", &MeshLink::b, Int{.min = 0}, "Place of the other device.").required(),
          field("links", &MeshLink::links, count(1, 64), "NVLinks between the two.").required(),
      });
  return table;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const Table<Device>& device_table() {
  const Sourced<Rate> rate{Rate{}};
  static const Table<Device> table(
      "device",
      {
          field("name", &Device::name, Text{}, "What reports call it.").required(),
          field("peak_fp64", &Device::peak_fp64, rate, "Dense matrix peak in fp64."),
          field("peak_fp32", &Device::peak_fp32, rate, "Dense matrix peak in fp32, without TF32.")
              .required(),
          field("peak_bf16", &Device::peak_bf16, rate, "Dense matrix peak in bf16."),
          field("peak_fp16", &Device::peak_fp16, rate, "Dense matrix peak in fp16."),
          field("peak_fp8", &Device::peak_fp8, rate, "Dense matrix peak in fp8."),
          field("peak_fp4", &Device::peak_fp4, rate,
                "Dense matrix peak in 4 bits with a scale for each block, nvfp4. Data sheets put "
                "the rate with sparsity first, which is twice that on B200 and GB200 and 4/3 of it "
                "on GB300."),
          field("vector_fp32", &Device::vector_fp32, rate, "fp32 peak outside of matrix units.")
              .required(),
          field("matmul_yield", &Device::matmul_yield, Sourced{Real{.min = 0.1, .max = 2}},
                "What the largest products reach of the peak, over the same for the GPU of its "
                "generation whose kernels were measured."),
          field("memory", &Device::memory, Sourced{Amount<Bytes>{.min = 1}},
                "Memory that a program can use.")
              .required(),
          field("memory_bandwidth", &Device::memory_bandwidth, bandwidth(),
                "Peak bandwidth of that memory.")
              .required(),
          field("l2_cache", &Device::l2_cache, Sourced{Amount<Bytes>{}}, "Last-level cache."),
          field("sms", &Device::sms, count(1, 100'000), "Streaming multiprocessors, or CPU cores.")
              .required(),
          field("compute_capability", &Device::compute_capability, count(0, 1000),
                "NVIDIA compute capability times ten; of AMD's GPUs the number of their gfx target "
                "(942 "
                "of MI300X); 0 for processors."),
          field("launch_overhead", &Device::launch_overhead, latency(),
                "Device time between dependent kernels."),
          field("power", &Device::power, Sourced{Amount<Watts>{}}, "Highest sustained power."),
          field("nvlink_links", &Device::nvlink_links, count(0, 1000), "NVLinks of the device."),
          field("nvlink_link_bandwidth", &Device::nvlink_link_bandwidth, bandwidth_or_none(),
                "One NVLink, per direction."),
          field("pcie_bandwidth", &Device::pcie_bandwidth, bandwidth_or_none(),
                "PCIe link of the device, per direction."),
          field("peer_access", &Device::peer_access, Sourced{Flag{}},
                "Whether devices read each other's memory over PCIe."),
          field("host_link", &Device::host_link, link_classes(), "How host memory is reached."),
          field("host_bandwidth", &Device::host_bandwidth, bandwidth(),
                "To host memory, per direction.")
              .required(),
          field("unified_memory", &Device::unified_memory, Sourced{Flag{}},
                "Host memory is the same memory: nothing is gained by moving tensors there.")
              .silent_by_default(),
      });
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<NodeSpec>& node_table() {
  static const Table<NodeSpec> table(
      "node",
      {
          field("name", &NodeSpec::name, Text{}, "What reports call it.").required(),
          field("device", &NodeSpec::device, Text{}, "A device of the catalogue.").required(),
          field("fabric", &NodeSpec::fabric, Text{}, "The fabric that usually joins such nodes."),
          field("family", &NodeSpec::family, families(), "How the devices are connected.")
              .required(),
          field("devices", &NodeSpec::devices, count(1, kMostDevicesPerNode), "Devices of a node.")
              .required(),
          field("devices_per_host", &NodeSpec::devices_per_host, count(0, kMostDevicesPerNode),
                "Devices of each host, where a node is several: what launchers count. 0: all.")
              .silent_by_default(),
          field("cpu", &NodeSpec::cpu, Text{{"intel", "amd", "arm"}}, "Make of the CPU."),
          field("processor", &NodeSpec::processor, Text{},
                "What usually computes on the host: a processor of the catalogue.")
              .silent_by_default(),
          field("host_slowdown", &NodeSpec::host_slowdown, Sourced{Real{.min = 0.01, .max = 100}},
                "Time that the host takes to issue an op, over that of a DGX H100's, which the "
                "times of frameworks are for."),
          field("nvlink_latency", &NodeSpec::nvlink_latency, latency(),
                "Between a device and its NVSwitch or NVLink peer."),
          field("nvswitch_generation", &NodeSpec::nvswitch_generation, count(0, 100),
                "Generation 3 and later reduce inside of the switch."),
          field("nvswitch_latency", &NodeSpec::nvswitch_latency, latency(), "Through an NVSwitch."),
          field("mesh", &NodeSpec::mesh, List{Nested{&mesh_table()}},
                "Direct NVLinks, for the family nvlink_mesh."),
          field("sockets", &NodeSpec::sockets, count(1, 4096), "CPU sockets."),
          field("pcie_switches", &NodeSpec::pcie_switches, count(0, 4096),
                "PCIe switches; 0: everything sits on root ports of the sockets."),
          field("pcie_bandwidth", &NodeSpec::pcie_bandwidth, bandwidth(),
                "Of a slot and of a PCIe switch's uplink, per direction.")
              .required(),
          field("pcie_latency", &NodeSpec::pcie_latency, latency(), "Of one PCIe link."),
          field("pcie_switch_latency", &NodeSpec::pcie_switch_latency, latency(),
                "Through a PCIe switch."),
          field("socket_latency", &NodeSpec::socket_latency, latency(),
                "Through a CPU's root complex."),
          field(
              "socket_bandwidth", &NodeSpec::socket_bandwidth, bandwidth_or_none(),
              "What traffic between devices achieves between neighbouring sockets, per direction."),
          field("socket_link_latency", &NodeSpec::socket_link_latency, latency(),
                "Of the link between neighbouring sockets."),
          field("nics", &NodeSpec::nics, count(0, 4096),
                "NICs for traffic between devices, of which each uses one: several cards of a "
                "device are one of their sum."),
          field("rails", &NodeSpec::rails, count(0, 4096),
                "Rails that the NICs are dealt to in turn; 0: a rail for each NIC."),
      });
  return table;
}

// NOLINTNEXTLINE(readability-function-size): a table
const Table<Fabric>& fabric_table() {
  static const Table<Fabric> table(
      "fabric",
      {
          field("name", &Fabric::name, Text{}, "What reports call it.").required(),
          field("link", &Fabric::link, link_classes(), "infiniband or ethernet.").required(),
          field("bandwidth", &Fabric::bandwidth, bandwidth(), "A NIC port, per direction.")
              .required(),
          field("bus_bandwidth", &Fabric::bus_bandwidth, bandwidth(),
                "The NIC's PCIe interface, per direction.")
              .required(),
          field("nic_latency", &Fabric::nic_latency, latency(), "Through a NIC."),
          field("switch_latency", &Fabric::switch_latency, latency(), "Through a switch."),
          field("cable_latency", &Fabric::cable_latency, latency(), "Of one cable."),
          field("nodes_per_pod", &Fabric::nodes_per_pod, count(1, 1'000'000),
                "Nodes under the same leaf switches."),
          field("switch_ports", &Fabric::switch_ports, count(1, 1'000'000),
                "Of a switch, each as fast as a cable: what is said where more would be needed."),
          field("oversubscription", &Fabric::oversubscription, Sourced{Real{.min = 1, .max = 1000}},
                "Bandwidth of a leaf towards nodes over that towards spines."),
          field("topology", &Fabric::topology, topologies(), "How switches and nodes are joined."),
          field("nodes_per_switch", &Fabric::nodes_per_switch, count(0, 1'000'000),
                "Without rails: nodes on one switch. 0: nodes_per_pod where it is written, else as "
                "many "
                "as have ports on a rail's leaf; in a torus 1."),
          field("levels", &Fabric::levels, count(2, 3), "Of switches, in trees."),
          field("pods_per_block", &Fabric::pods_per_block, count(1, 1'000'000),
                "Three levels: pods under the same spines."),
          field("spine_oversubscription", &Fabric::spine_oversubscription,
                Sourced{Real{.min = 1, .max = 1000}},
                "Three levels: bandwidth of a spine towards leafs over that towards cores."),
          field("routers_per_group", &Fabric::routers_per_group, count(1, 4096), "Of a dragonfly."),
          field("global_cables", &Fabric::global_cables, count(1, 4096),
                "Of a dragonfly's router, to other groups."),
          field("dimensions", &Fabric::dimensions, List{Int{.min = 2, .max = 1'000'000}},
                "Of a torus: switches along each dimension."),
          field("parallel_cables", &Fabric::parallel_cables, count(1, 4096),
                "Between two neighbours of a torus, two routers of a dragonfly's group."),
          field(
              "spreading", &Fabric::spreading, spreadings(),
              "With the flow network: a message goes over all shortest ways evenly, or over one by "
              "a hash (ECMP; seed: the cluster's)."),
          field(
              "rail_forwarding", &Fabric::rail_forwarding, Flag{},
              "With the flow network: messages to another rail go there over NVLink first (PXN)."),
          field("burst", &Fabric::burst, Sourced{Amount<Bytes>{}},
                "What a port lets pass at once above its rate: the depth of its token bucket."),
      });
  return table;
}

}  // namespace plait
