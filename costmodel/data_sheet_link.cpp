#include "costmodel/data_sheet_link.h"

#include <algorithm>

#include "costmodel/measured_links.h"
#include "topologies/catalogue.h"
#include "topologies/importers/choose_device.h"

namespace plait {
namespace {

using Kind = DataSheetLink::Kind;

/// Ranks on the host with most of them.
std::int64_t ranks_per_host(const CollectiveTimings& run) {
  const std::int64_t hosts = std::max<std::int64_t>(1, run.hosts);
  return std::max<std::int64_t>(1, (run.ranks + hosts - 1) / hosts);
}

/// Bus bandwidth in NICs, with n ranks, r of them on each host (nccl-tests doc/PERFORMANCE.md).
/// Rings and trees: min(r, NICs), as every byte of it leaves a node once, by all its NICs.
/// all_to_all: (n - 1) / (n - r), as a rank sends (n - r) / n of its buffer by its own NIC, of
/// which (n - 1) / n are counted; where ranks share a NIC, as much of it as a rank has. send_recv:
/// 1, as one rank of a node sends to another node.
double add_nics(const CollectiveTimings& run, const NodeSpec& node, DataSheetLink& out) {
  const std::int64_t ranks = ranks_per_host(run);
  const auto n = static_cast<double>(run.ranks), r = static_cast<double>(ranks);
  const std::int64_t used = std::min(ranks, node.nics);
  if (run.collective == "all_to_all" && n > r) {
    out.nics = used;
    out.crossing = (n - r) / (n - 1);
    return static_cast<double>(used) / r * (n - 1) / (n - r);
  }
  if (run.collective != "send_recv") out.nics = used;
  return static_cast<double>(out.nics);
}

BytesPerSecond rate_of(Kind kind, const NodeSpec& node, const Device& device) {
  switch (kind) {
    case Kind::kNic: return find_fabric(node.fabric).bandwidth;
    case Kind::kNvlink: return device.nvlink_link_bandwidth;
    case Kind::kPcie: return device.pcie_bandwidth;
  }
  return {};
}

/// The machine of the run with such links at `factor` times their rate.
ClusterSpec machine_of(const CollectiveTimings& run, const NodeSpec& node, const Device& device,
                       Kind kind, double factor) {
  ClusterSpec out{.preset = node.name, .nodes = std::max<std::int64_t>(1, run.hosts)};
  out.device = device;
  if (!node.fabric.empty()) out.own_fabric = find_fabric(node.fabric);
  switch (kind) {
    case Kind::kNic: out.own_fabric->bandwidth *= factor; break;
    case Kind::kNvlink: out.device->nvlink_link_bandwidth *= factor; break;
    case Kind::kPcie: out.device->pcie_bandwidth *= factor; break;
  }
  return out;
}

}  // namespace

std::optional<DataSheetLink> data_sheet_link(const CollectiveTimings& run,
                                             const std::string& named) {
  const std::string name = named.empty() ? catalogue_name(run.device) : named;
  if (name.empty()) return std::nullopt;
  const Device device = find_device(name);
  const NodeSpec node = find_node(usual_node(device, ranks_per_host(run)));
  DataSheetLink out;
  out.cluster = node.name;
  double links = 1;  // that bound the bus bandwidth together
  if (run.hosts > 1 && node.nics > 0) {
    links = add_nics(run, node, out);
  } else if (device.nvlink_links > 0) {
    out.kind = Kind::kNvlink;
    links = static_cast<double>(device.nvlink_links);
  } else {
    out.kind = Kind::kPcie;
  }
  const BytesPerSecond rate = rate_of(out.kind, node, device);
  out.bandwidth = rate * links;
  const auto factor = measured_link_factor(
      run, [&](double f) { return machine_of(run, node, device, out.kind, f); });
  if (factor) out.as_measured = rate * *factor;
  return out;
}

}  // namespace plait
