#pragma once
// The machine: devices, and the graph of switches, NICs and links between them. Bandwidths are per
// direction. What the cost model needs to know of a set of devices is its GroupPlacement.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "model/dtype.h"

namespace plait {

/// kDeviceMemory: the memory of a GPU, between the parts that share it.
enum class LinkClass : std::uint8_t { kNvlink, kPcie, kInfiniband, kEthernet, kC2c, kDeviceMemory };
inline constexpr int kLinkClasses = 6;
std::string_view name_of(LinkClass c);

/// An accelerator (or CPU), as in topologies/catalogue/devices/*.json, where each number has its
/// source.
struct Device {
  std::string name;  // "h100-sxm"
  /// Dense; fp8 and fp4 0 where absent.
  FlopsPerSecond peak_fp64, peak_fp32, peak_bf16, peak_fp16, peak_fp8, peak_fp4;
  FlopsPerSecond vector_fp32;  // outside of the matrix units
  /// What the largest products reach of the peak, over the same for the GPU of its generation whose
  /// kernels were measured: a higher peak that the power does not carry.
  double matmul_yield = 1;
  Bytes memory;  // usable capacity, HBM or DRAM
  BytesPerSecond memory_bandwidth;
  Bytes l2_cache;
  int sms = 0;                 // streaming multiprocessors
  int compute_capability = 0;  // 80, 90, 100; AMD: 942 of gfx942; 0: a processor
  Seconds launch_overhead;     // device time between dependent kernels
  Watts power;
  int nvlink_links = 0;                  // 0: no NVLink
  BytesPerSecond nvlink_link_bandwidth;  // one link, per direction
  BytesPerSecond pcie_bandwidth;         // to its PCIe switch or root port, per direction
  bool peer_access = true;               // over PCIe; without it messages pass through host memory
  LinkClass host_link = LinkClass::kPcie;  // kC2c: the CPU is on the same module
  BytesPerSecond host_bandwidth;           // to host memory, per direction
  bool unified_memory = false;             // host memory is the same memory
  /// NVLink bandwidth of the device, per direction.
  BytesPerSecond nvlink_bandwidth() const { return nvlink_link_bandwidth * nvlink_links; }
  /// Dense peak for matrix products of `dtype` inputs. Throws InputError C005 where the device has
  /// none.
  FlopsPerSecond peak(DType dtype) const;
  /// NVIDIA's with NVLink, from compute capability 8.0 on (deepseek-ai/DeepEP, docs/legacy.md,
  /// "Requirements").
  bool runs_deepep() const {
    return nvlink_links > 0 && compute_capability >= 80 && compute_capability < 900;
  }
};

/// Of a PCIe link's rate what traffic gets: NCCL counts 24 GB/s on a PCIe 4.0 x16 port of 31.5
/// (NCCL 2.30 src/graph/topo.h).
inline constexpr double kPcieShare = 24 / 31.5;

/// A PCIe link carries as much as a NIC of this share of its rate: NCCL counts 96 GB/s on a
/// PCIe 6.0 x16 port of 121, as on an 800 Gbit/s NIC of 100 (NCCL 2.30 src/graph/xml.cc,
/// kvDictPciGen).
inline constexpr double kNicForPcie = 100.0 / 121;

/// A route between two devices, or the share of the fabric that one member of a group has.
struct Path {
  LinkClass link = LinkClass::kNvlink;  // of its narrowest link
  BytesPerSecond bandwidth;             // per direction, of its narrowest link
  Seconds latency;                      // sum over the hops
  int hops = 0;
  /// The outermost class it crosses, the fabric before PCIe, where that is not `link`: a fast NIC
  /// on a slow bus. Latencies and what software adds go with it.
  std::optional<LinkClass> beyond = {};

  LinkClass outermost() const { return beyond.value_or(link); }
  /// As a rate of the outermost link: of a NIC that carries as much as the PCIe link before it.
  BytesPerSecond carried() const {
    return beyond && link == LinkClass::kPcie ? bandwidth * kNicForPcie : bandwidth;
  }
  bool operator==(const Path&) const = default;
};

/// How a communicator's members are spread over the machine.
struct GroupPlacement {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;            // islands that it touches
  std::int64_t pods = 1;             // groups of islands under the same leaf switches
  std::int64_t ranks_per_node = 1;   // in the fullest island
  std::int64_t fewest_per_node = 1;  // in the emptiest
  Path intra;                        // between members in one island, share of one member
                                     // (if ranks_per_node > 1)
  Path intra_exchange;               // the same where each member sends to all others alike
  Path inter;                        // between islands, share of one member (if nodes > 1)
  Path exchange;                     // the same where each member sends to all other islands alike
  /// If no other group communicates.
  Path intra_alone, intra_exchange_alone, inter_alone, exchange_alone;
  bool in_switch_reduction = false;  // NVLS: all members behind NVSwitches that can reduce
  std::size_t kind = 0;              // of its weakest nodes (Cluster::kind)

  bool operator==(const GroupPlacement&) const = default;
};

/// A device whose kernels run `factor` times as long (1.1: ten percent slower).
struct Slowdown {
  std::int64_t device = 0;
  double factor = 1;
};

struct Graph;  // topologies/graph.h

/// What the nodes of one kind have, besides their graph.
struct NodeKind {
  Device device;
  Path host;                    // between a device and the memory of its host
  int nvswitch_generation = 0;  // 0: none; 3 and later reduce inside of the switch
  std::string cpu = "intel";    // "intel", "amd", "arm": NCCL's host overheads depend on it
  /// Time that its host takes to issue an op, over that of a DGX H100's (docs/models/issue.md).
  double host_slowdown = 1;
  /// Machines with an operating system: more than one where NVLink joins the trays of a rack.
  std::int64_t hosts_per_node = 1;
};

/// Nodes `first` to `last`, both included, of another kind than the rest.
struct OtherKind : NodeKind {
  std::int64_t first = 0, last = 0;
};

/// Itself the kind of all nodes that are not in `others`.
struct Cluster : NodeKind {
  std::string name;
  std::int64_t devices_per_node =
      1;  // an island: the devices behind one NVSwitch domain or PCIe root
  std::int64_t nodes = 1;
  std::int64_t nics_per_node = 0;
  std::int64_t nodes_per_pod = 1;      // under the same switches
  BytesPerSecond nic_bandwidth;        // one NIC, per direction
  std::shared_ptr<const Graph> graph;  // shared: a Cluster is copied by value
  std::vector<OtherKind> others;       // ranges that do not overlap
  std::vector<Slowdown> slowdowns;
  double variation = 0;    // of speed: from the slowest to the fastest device, over the mean
  double jitter = 0;       // each device its own constant factor in [1, 1 + jitter]
  std::uint64_t seed = 1;  // of the jitter

  std::int64_t world_size() const { return nodes * devices_per_node; }
  /// Of all nodes.
  std::int64_t hosts() const;
  /// Its devices are parts of one GPU in each node (topologies/gpu_part.h).
  bool shares_memory() const;
  std::size_t kinds() const { return 1 + others.size(); }
  const NodeKind& kind(std::size_t k) const;
  /// The number of the kind of a device's node.
  std::size_t kind_of(std::int64_t device_index) const;
  /// Of the devices, the share that nodes of kind k have.
  double share(std::size_t k) const;
  /// Of a device, the mean over all; 0 W where that of some is not known.
  Watts rated_power() const;
  /// What all devices take at that power in so long, in kWh; 0: of one of them it is not known.
  double rated_energy_kwh(Seconds time) const;
};

/// Placement of a group of device indices (0 <= index < world_size).
GroupPlacement place_group(const Cluster& cluster, std::span<const std::int64_t> devices);

/// Route from one device to another.
Path route(const Cluster& cluster, std::int64_t from, std::int64_t to);

/// What a device has of the way to its peer in the stage before or behind, when every device of its
/// stage sends to its own peer, and when this one sends alone.
struct PeerPath {
  Path all, alone;
  bool operator==(const PeerPath&) const = default;
};
/// `pipeline`: the two devices and theirs of the other stages, stage by stage; `width`: the devices
/// of a stage.
PeerPath route_to_peer(const Cluster& cluster, std::int64_t from, std::int64_t to,
                       std::span<const std::int64_t> pipeline, std::int64_t width);

/// The machine looks the same from device d and from d + period (whole nodes, whole leaf groups);
/// group placements need to be worked out only for one period.
std::int64_t symmetry_period(const Cluster& cluster);

}  // namespace plait
