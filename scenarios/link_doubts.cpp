// What of a machine's links a reader of the prediction should know: they take no time but their
// bytes', or NICs are faster than the slots that they are in.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

void warn_of_no_latency(const ClusterPart& part, Warnings& warnings) {
  const auto warn = [&](const std::string& what, const char* fields, const char* preset) {
    warnings.push_back(
        {"W021", fmt::format("{} has no latencies ({}), so small messages take next to no time "
                             "there: write them, or begin with the nearest preset, such as {}",
                             what, fields, preset)});
  };
  const NodeSpec& n = part.node.value;
  const bool joined = n.family != Family::kHost && n.family != Family::kGpuParts;
  const Seconds node = n.nvlink_latency + n.nvswitch_latency + n.pcie_latency +
                       n.pcie_switch_latency + n.socket_latency + n.socket_link_latency;
  if (part.node.preset.empty() && joined && node.value == 0)
    warn("cluster.node", "nvlink_latency, nvswitch_latency, pcie_latency, ...", "hgx-h100");
  const Fabric& f = part.fabric.value;
  const Seconds fabric = f.nic_latency + f.switch_latency + f.cable_latency;
  const bool own = part.fabric.preset.empty() && f.bandwidth.value > 0;
  if (own && part.nodes > 1 && fabric.value == 0)
    warn("cluster.fabric", "nic_latency, switch_latency, cable_latency", "roce400");
}

void warn_of_slow_slots(const ClusterPart& part, const Cluster& cluster, Warnings& warnings) {
  const BytesPerSecond nic = part.fabric.value.bandwidth;
  if (cluster.nodes == 1) return;
  const std::pair<const char*, BytesPerSecond> slots[] = {
      {"cluster.fabric.bus_bandwidth", part.fabric.value.bus_bandwidth},
      {"cluster.node.pcie_bandwidth", part.node.value.pcie_bandwidth},
      {"cluster.device.pcie_bandwidth", part.device.value.pcie_bandwidth}};
  std::vector<std::string> slower;
  for (const auto& [field, rate] : slots) {
    if (rate.value > 0 && rate < nic)
      slower.push_back(fmt::format("{} is {}", field, to_text(rate)));
  }
  if (slower.empty() || route(cluster, 0, cluster.devices_per_node).bandwidth >= nic) return;
  warnings.push_back({"W027", fmt::format("a NIC of {} is faster than the PCIe that it is behind, "
                                          "which is the limit: {}; a faster one has to be said too",
                                          to_text(nic), fmt::join(slower, ", "))});
}

}  // namespace

void warn_of_links(const ClusterPart& part, const Cluster& cluster, Warnings& warnings) {
  warn_of_no_latency(part, warnings);
  warn_of_slow_slots(part, cluster, warnings);
}

}  // namespace plait
