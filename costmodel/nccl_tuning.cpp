#include "costmodel/nccl_tuning.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "costmodel/links.h"
#include "costmodel/microseconds.h"

namespace plait {
namespace {

constexpr double kGB = 1e9;

// Latencies in us by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;
constexpr ByProtocol kTreeBase = {6.8, 14.0, 8.4}, kRingBase = {6.6, 14.0, 8.4};
struct HopLatency {
  ByProtocol tree, ring;
  double nvls, nvls_tree, pat;
};
constexpr HopLatency kNvlinkHop = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, 25, 25, 4};
constexpr HopLatency kPcieHop = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, 0, 0, 4};
constexpr HopLatency kNetHop = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, 18, 20.9, 14};
constexpr double kPatBase = 8.0;

// Bandwidth limits in GB/s. Rows: Volta, Ampere, Hopper, Blackwell; columns: 1, 2, more nodes.
using Row = std::array<double, 3>;
constexpr std::array<Row, 4> kLlMax = {
    {{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<Row, 4> kTreePerChannel = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<Row, 4> kTreeLl128PerChannel = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<Row, 4> kNvlsTreePerChannel = {
    {{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array<double, 4> kRingLl128PerChannel = {20, 20, 36.7, 40};
constexpr std::array<double, 4> kNvlsEfficiency = {0, 0, 0.85, 0.74};

// What trees reach of their estimate at 64 B x 2^i.
constexpr std::array<std::array<double, 24>, 3> kTreeCorrection = {{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

// RCCL is a fork of NCCL and its tables are for the same formula; they are not at hand. A100's.
std::size_t row_of(Generation generation) {
  if (generation == Generation::kCdna) generation = Generation::kAmpere;
  return static_cast<std::size_t>(generation) - static_cast<std::size_t>(Generation::kVolta);
}
std::size_t column_of(double nodes) { return nodes <= 1 ? 0 : nodes <= 2 ? 1 : 2; }
int log2_floor(double x) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(x))) - 1;
}
const HopLatency& intra_hop(const NcclGroup& g) {
  return g.intra_link == LinkClass::kNvlink ? kNvlinkHop : kPcieHop;
}

// Multi-node rings pay a host post per step within the island: 1 us, 2 us on AMD, 3 times for
// Simple.
double post_overhead(const NcclGroup& g, std::size_t protocol) {
  if (g.nodes <= 1) return 0;
  return (g.amd_host ? 2.0 : 1.0) * (protocol == 2 ? 3 : 1);
}

NcclOption ring(const NcclGroup& g, const Channels& channels, Bytes bytes, std::size_t p,
                Speeds speeds) {
  double bus = channels.total();
  const double ll_max =
      kLlMax[g.nodes <= 1 ? row_of(g.generation) : (g.amd_host ? 1 : 0)][column_of(g.nodes)] * kGB;
  const bool capped = speeds == Speeds::kLadder || g.nodes > 1;
  if (p == 0) bus = std::min(ll_max, 0.5 * bus);
  if (p == 1) {
    bus *= 0.92;
    if (capped)
      bus = std::min(bus, channels.count * kRingLl128PerChannel[row_of(g.generation)] * kGB);
  }
  const double steps = ring_steps(g);
  const double net_steps = g.nodes <= 1 ? 0
                                        : (g.kind == CollectiveKind::kAllReduce ? 2 * (g.nodes - 1)
                                           : g.kind == CollectiveKind::kBroadcast ? g.nodes
                                                                                  : g.nodes - 1);
  const double hop = std::max(intra_hop(g).ring[p], post_overhead(g, p));
  const double net = g.per_node <= 1 ? kNetHop.tree[p] : kNetHop.ring[p];
  // Multi-node Simple all-reduce with at least 64 B per rank and channel: measured correction.
  const bool slow = p == 2 && g.nodes > 1 && g.kind == CollectiveKind::kAllReduce &&
                    static_cast<double>(bytes.value) >= 64 * channels.count * g.ranks;
  const double stretch = !slow ? 1 : g.generation == Generation::kVolta ? 1.9 : 1.4;
  return {.algorithm = Algorithm::kRing,
          .protocol = static_cast<Protocol>(p),
          .start = us(stretch * kRingBase[p]),
          .intra_latency = us(stretch * (steps - net_steps) * hop),
          .inter_latency = us(stretch * net_steps * net),
          .bandwidth = BytesPerSecond(bus * g.ranks / steps),
          .inter_bound = network_bounds(g)};
}

NcclOption tree(const NcclGroup& g, const Channels& channels, std::size_t p) {
  const std::size_t row = row_of(g.generation), column = column_of(g.nodes);
  double bus =
      std::min(0.92 * channels.total(), channels.count * kTreePerChannel[row][column] * kGB);
  const double ll_max = kLlMax[g.nodes <= 1 ? row : (g.amd_host ? 1 : 0)][column] * kGB;
  if (p == 0) bus = std::min(bus / 3.8, ll_max);
  if (p == 1)
    bus = std::min(bus * (g.nodes <= 1 ? 7.0 / 9 : 120.0 / 128),
                   channels.count * kTreeLl128PerChannel[row][column] * kGB);
  return {.algorithm = Algorithm::kTree,
          .protocol = static_cast<Protocol>(p),
          .start = us(kTreeBase[p]),
          .intra_latency = us(2 * (g.per_node - 1) * intra_hop(g).tree[p]),
          .inter_latency = us(2 * log2_floor(g.nodes) * kNetHop.tree[p]),
          .bandwidth = BytesPerSecond(bus / 2),
          .inter_bound = network_bounds(g)};
}

// Reduction and multicast in the NVSwitch.
NcclOption nvls(const NcclGroup& g, Speeds speeds) {
  const bool reduce = g.kind == CollectiveKind::kAllReduce;
  const Channels c = nvls_channels(g, speeds);
  const double gain = reduce ? 2 : (g.per_node - 1) / g.per_node;
  const double rate = c.speed * kNvlsEfficiency[row_of(g.generation)] * (c.count - 1) * gain;
  const double steps = (reduce ? 2 : 1) * (g.ranks - 1);
  return {.algorithm = Algorithm::kNvls,
          .start = {},
          .intra_latency = us(kNvlinkHop.nvls),
          .inter_latency = {},
          .bandwidth = BytesPerSecond(rate * g.ranks / steps)};
}

// NVLS within the islands, a tree between them: all-reduce only. NCCL counts what each member of
// two islands sends, (n-1)/n S; what it takes is at least what their NICs carry, 2 (N-1)/N S of N
// islands.
NcclOption nvls_tree(const NcclGroup& g, const Channels& rings, Speeds speeds) {
  const Channels c = nvls_channels(g, speeds);
  const double inside =
      c.speed * kNvlsEfficiency[row_of(g.generation)] * (c.count - 1) / c.count * 2;
  const double between = rings.total() / c.count * (g.nodes <= 2 ? 2 : 1);
  const double limit = kNvlsTreePerChannel[row_of(g.generation)][column_of(g.nodes)] * kGB;
  const double rate = c.count * std::min({inside, between, limit});
  const double counted = rate * g.ranks / (2 * (g.ranks - 1));
  const double carried = rings.total() * g.nodes / (2 * (g.nodes - 1));
  return {
      .algorithm = Algorithm::kNvlsTree,
      .start = {},
      .intra_latency = us(kNvlinkHop.nvls_tree),
      .inter_latency = us(2 * log2_floor(g.nodes) * kNetHop.nvls_tree),
      .bandwidth = BytesPerSecond(speeds == Speeds::kLadder ? counted : std::min(counted, carried)),
      .inter_bound = network_bounds(g) && (between <= inside || carried < counted)};
}

// Parallel aggregated trees: one member per node.
NcclOption pat(const NcclGroup& g, const Channels& rings) {
  return {.algorithm = Algorithm::kPat,
          .start = us(kPatBase + 2.8 * g.ranks),
          .intra_latency = {},
          .inter_latency = us(log2_floor(g.nodes) * kNetHop.pat / 3.5),
          .bandwidth = BytesPerSecond(0.75 * rings.total() * g.ranks / (g.ranks - 1)),
          .inter_bound = true};
}

}  // namespace

double ring_steps(const NcclGroup& g) {
  switch (g.kind) {
    case CollectiveKind::kAllReduce: return 2 * (g.ranks - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter: return g.ranks - 1;
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kPush:
    case CollectiveKind::kPull:
    case CollectiveKind::kBroadcast: return g.ranks;
    case CollectiveKind::kShift: return 1;
  }
  return 0;
}

NcclGroup nccl_group(CollectiveKind kind, const GroupPlacement& group, const NodeKind& node) {
  NcclGroup g;
  g.kind = kind;
  g.generation = generation_of(node.device);
  g.ranks = static_cast<double>(group.ranks);
  g.nodes = static_cast<double>(group.nodes);
  g.per_node = static_cast<double>(group.ranks_per_node);
  g.fewest = static_cast<double>(group.fewest_per_node);
  g.intra_link = group.intra.link;
  g.inter_link = group.inter.link;
  g.intra = group.intra.bandwidth.value * usable_share(group.intra.link, g.generation);
  g.intra_exchange =
      group.intra_exchange.bandwidth.value * usable_share(group.intra_exchange.link, g.generation);
  g.inter = group.inter.carried().value * usable_share(group.inter.outermost(), g.generation);
  g.exchange =
      group.exchange.carried().value * usable_share(group.exchange.outermost(), g.generation);
  g.nvls = group.in_switch_reduction && g.intra_link == LinkClass::kNvlink &&
           g.generation >= Generation::kHopper && g.per_node > 1;
  g.amd_host = node.cpu == "amd";
  return g;
}

// Between powers of two the ladder steps; the continuous form interpolates in the logarithm of the
// size, so that more bytes never take less time (the factor grows slower than the size).
double NcclOption::size_penalty(Bytes bytes, Speeds speeds) const {
  if (algorithm != Algorithm::kTree || bytes.value < 64) return 1;
  const auto& row = kTreeCorrection[static_cast<std::size_t>(protocol)];
  const double position = std::log2(static_cast<double>(bytes.value) / 64);
  const auto at = static_cast<std::size_t>(position);
  if (at + 1 >= row.size()) return row.back();
  if (speeds == Speeds::kLadder) return row[at];
  return row[at] + (position - static_cast<double>(at)) * (row[at + 1] - row[at]);
}

Seconds NcclOption::time(Bytes bytes, Speeds speeds) const {
  return start + intra_latency + inter_latency + bytes / (bandwidth * size_penalty(bytes, speeds));
}

constexpr std::size_t kMostOptions = 7;  // rings and trees of three protocols, and one more

std::vector<NcclOption> nccl_options(const NcclGroup& g, Bytes bytes, Speeds speeds) {
  const bool reduce = g.kind == CollectiveKind::kAllReduce;
  const bool gather =
      g.kind == CollectiveKind::kAllGather || g.kind == CollectiveKind::kReduceScatter;
  // LL128 relies on 128-byte stores arriving whole: not over PCIe between members.
  const bool ll128 = g.per_node <= 1 || g.intra_link == LinkClass::kNvlink;
  const Channels rings = ring_channels(g, speeds);
  std::vector<NcclOption> options;
  options.reserve(kMostOptions);
  for (std::size_t p : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
    if (p == 1 && !ll128) continue;
    options.push_back(ring(g, rings, bytes, p, speeds));
    if (reduce) options.push_back(tree(g, rings, p));
  }
  if (g.nvls && g.nodes <= 1 && (reduce || gather)) options.push_back(nvls(g, speeds));
  if (g.nvls && g.nodes > 1 && reduce) options.push_back(nvls_tree(g, rings, speeds));
  if (gather && g.per_node <= 1 && g.nodes > 1) options.push_back(pat(g, rings));
  return options;
}

std::size_t nccl_choice(const NcclGroup& g, Bytes bytes) {
  const std::vector<NcclOption> options = nccl_options(g, bytes, Speeds::kLadder);
  const auto estimate = [&](const NcclOption& o) { return o.time(bytes, Speeds::kLadder); };
  return static_cast<std::size_t>(std::ranges::min_element(options, {}, estimate) -
                                  options.begin());
}

}  // namespace plait
