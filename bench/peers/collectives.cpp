#include "bench/peers/collectives.h"

#include <numeric>

#include "topologies/catalogue.h"

namespace plait {
namespace {

std::vector<std::int64_t> in_order(std::int64_t n) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Every `step`-th host: neighbours in the ring are in different nodes.
std::vector<std::int64_t> strided(std::int64_t n, std::int64_t step) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(i * step % n + i * step / n);
  return out;
}

std::vector<ReplayedCollective> rings(std::int64_t hosts, int count, std::int64_t rounds) {
  const ReplayedCollective ring = {in_order(hosts),
                                   {Pattern::kRing},
                                   CollectiveKind::kAllReduce,
                                   Bytes(hosts * 1'000'000),
                                   rounds};
  return std::vector<ReplayedCollective>(static_cast<std::size_t>(count), ring);
}

}  // namespace

std::vector<CollectiveCase> collective_cases() {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  constexpr SimTime kRest = 4'096'000;  // picoseconds: 4 us
  std::vector<CollectiveCase> out;
  for (const std::int64_t n : {64, 256, 1024}) {
    out.push_back({"ring all_reduce", n, rings(n, 1, n > 512 ? 400 : kAll)});
  }
  out.push_back(
      {"ring all_reduce, far neighbours",
       64,
       {{strided(64, 8), {Pattern::kRing}, CollectiveKind::kAllReduce, Bytes(64'000'000)}}});
  out.push_back({"doubling all_reduce",
                 256,
                 {{in_order(256),
                   {Pattern::kRecursiveDoubling},
                   CollectiveKind::kAllReduce,
                   Bytes(256'000'000)}}});
  out.push_back(
      {"tree all_reduce",
       256,
       {{in_order(256), {Pattern::kTree}, CollectiveKind::kAllReduce, Bytes(256'000'000)}}});
  out.push_back(
      {"all_to_all",
       64,
       {{in_order(64), {Pattern::kDirect}, CollectiveKind::kAllToAll, Bytes(64'000'000)}}});
  std::vector<ReplayedCollective> crossing = rings(64, 1, kAll);
  crossing.push_back(
      {strided(64, 8), {Pattern::kRing}, CollectiveKind::kAllReduce, Bytes(64'000'000)});
  out.push_back({"two rings that cross", 64, crossing});
  out.push_back({"8 rings in step", 1024, rings(1024, 8, 60)});
  out.push_back({"8 rings, not in step", 64, rings(64, 8, kAll), kRest});
  out.push_back({"8 rings, not in step", 1024, rings(1024, 8, 40), kRest});
  return out;
}

std::shared_ptr<const Network> network_of(std::int64_t hosts) {
  ClusterSpec spec;
  spec.preset = "hgx-h100";
  spec.nodes = hosts / 8;
  NodeSpec node = find_node(spec.preset);
  node.pcie_latency = node.pcie_switch_latency = node.socket_latency = {};
  node.socket_link_latency = node.nvlink_latency = node.nvswitch_latency = {};
  Fabric fabric = find_fabric(node.fabric);
  fabric.nic_latency = fabric.switch_latency = fabric.cable_latency = {};
  spec.own_node = node;
  spec.own_fabric = fabric;
  return make_network(make_cluster(spec));
}

}  // namespace plait
