// Links are numbered island by island, each as its graph numbers them, with the memory that its
// devices share behind them, then the fabric: every hop of every cable when ways are chosen by a
// hash, else every trunk in the order of its first hop.
#include "topologies/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "topologies/graph.h"

namespace plait {
namespace {

class GraphNetwork : public Network {
 public:
  GraphNetwork(std::shared_ptr<const Graph> graph, const RoutingOptions& options)
      : graph_(std::move(graph)), options_(options) {
    for (std::int64_t node = 0; node < graph_->nodes; ++node) {
      first_link_.push_back(next_id());
      append_island(graph_->kind(node).island);
    }
    first_link_.push_back(next_id());
    if (graph_->cabling) append_fabric(*graph_->cabling);
  }

  std::string name_of(LinkId link) const override {
    PLAIT_CHECK(link < links_.size(), "no such link");
    const auto after = std::upper_bound(first_link_.begin(), first_link_.end(), link);
    if (after == first_link_.end()) return name_in_fabric(link - first_link_.back());
    const std::int64_t node = after - first_link_.begin() - 1;
    return name_in_island(node, link - first_link_[static_cast<std::size_t>(node)]);
  }

  void route(std::int64_t from, std::int64_t to, std::uint64_t connection,
             std::vector<LinkId>& links) const override {
    const Graph& g = *graph_;
    const std::int64_t n = g.size(), a = from / n, b = to / n, e = to % n;
    std::int64_t d = from % n;
    const IslandRoutes& here = g.kind(a).routes;
    const IslandRoutes& there = g.kind(b).routes;
    const std::size_t first = links.size();
    if (a == b) {
      here.walk(d, e, links);
      shift(links, first, a);
      if (const auto memory = memory_of(from); memory && d != e)
        links.insert(links.end(), 2, *memory);
      return;
    }
    Gates gates;
    if (const std::int64_t other = forwarder(here, d, there.rail_of(e)); other >= 0) {
      here.walk(d, other, links);
      d = other;
      gates = {here.nic_of(d), there.nic_of(e)};
    } else {
      gates = g.gates(from, to);
    }
    here.walk_out(d, gates.exit, links);
    shift(links, first, a);
    cross(g.port(a, gates.exit), g.port(b, gates.entry), key(from, to, connection), links);
    const std::size_t inside = links.size();
    there.walk_in(gates.entry, e, links);
    shift(links, inside, b);
  }

  std::optional<LinkId> memory_of(std::int64_t device) const override {
    const std::int64_t node = device / graph_->size();
    if (graph_->kind(node).island.shared_memory.value <= 0) return std::nullopt;
    return first_link_[static_cast<std::size_t>(node) + 1] - 1;  // behind the island's links
  }

 private:
  LinkId next_id() const { return static_cast<LinkId>(links_.size()); }

  void append_island(const Island& island) {
    const LinkGraph& g = island.links;
    for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
      for (auto [edge, end] = boost::out_edges(v, g); edge != end; ++edge) {
        const Link& link = g[*edge];
        links_.push_back({link.link, link.bandwidth, link.latency, 1});
      }
    }
    if (island.shared_memory.value > 0)
      links_.push_back({LinkClass::kDeviceMemory, island.shared_memory, {}, 1});
  }

  void append_fabric(const Cabling& cabling) {
    const auto hops = static_cast<std::size_t>(2 * cabling.cables());
    link_of_.resize(hops);
    for (std::size_t h = 0; h < hops; ++h) {
      const auto hop = static_cast<Hop>(h);
      const Cable cable = graph_->cable(hop / 2);
      const Hop trunk = options_.spreading == Spreading::kEven ? cabling.trunk(hop) : hop;
      if (trunk == hop) {
        link_of_[h] = next_id();
        links_.push_back({graph_->fabric.link, cable.bandwidth, cable.latency, working(cable)});
        first_hop_.push_back(hop), last_hop_.push_back(hop);
        continue;
      }
      link_of_[h] = link_of_[static_cast<std::size_t>(trunk)];
      NetworkLink& link = links_[link_of_[h]];
      link.bandwidth += cable.bandwidth;
      link.cables += working(cable);
      last_hop_[link_of_[h] - first_link_.back()] = hop;
    }
  }

  static std::int64_t working(const Cable& cable) {
    return cable.bandwidth.value > 0 ? cable.count : 0;
  }

  static void shift(std::vector<LinkId>& links, std::size_t from, LinkId by) {
    for (std::size_t i = from; i < links.size(); ++i) links[i] += by;
  }
  void shift(std::vector<LinkId>& links, std::size_t from, std::int64_t node) const {
    shift(links, from, first_link_[static_cast<std::size_t>(node)]);
  }

  /// The device that passes a message of `device` on to another rail, or -1.
  std::int64_t forwarder(const IslandRoutes& island, std::int64_t device, std::int64_t rail) const {
    if (!options_.rail_forwarding || island.rail_of(device) == rail) return -1;
    return island.forwarder(device, rail);
  }

  std::uint64_t key(std::int64_t from, std::int64_t to, std::uint64_t connection) const {
    std::uint64_t out = scramble(options_.seed);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), connection}) {
      out = scramble(out ^ part);
    }
    return out;
  }

  /// From port to port.
  void cross(std::int64_t from, std::int64_t to, std::uint64_t key,
             std::vector<LinkId>& links) const {
    // Ways that are no trunk are dealt to the pairs of ports in turn.
    if (options_.spreading == Spreading::kEven)
      key = static_cast<std::uint64_t>(graph_->cabling->turn(from, to));
    std::vector<Hop> hops;
    graph_->way(from, to, key, hops);
    for (const Hop hop : hops) links.push_back(link_of_[static_cast<std::size_t>(hop)]);
  }

  std::string name_in_island(std::int64_t node, LinkId number) const {
    const LinkGraph& island = graph_->kind(node).island.links;
    const auto name = [&](VertexId v) {
      return fmt::format("{} {}", plait::name_of(island[v].kind), island[v].index);
    };
    for (VertexId v = 0; v < boost::num_vertices(island); ++v) {
      for (auto [edge, end] = boost::out_edges(v, island); edge != end; ++edge) {
        if (island[*edge].number != number) continue;
        return fmt::format("node {}: {} -> {}", node, name(v), name(boost::target(*edge, island)));
      }
    }
    return fmt::format("node {}: {}", node, plait::name_of(VertexKind::kMemory));
  }

  std::int64_t end_of(Hop hop, bool far) const {
    const Cable cable = graph_->cabling->cable(hop / 2);
    return far == (hop % 2 == 0) ? cable.b : cable.a;
  }
  /// Where a trunk's cables begin, or end (`far`): "pod 0 leaf 2", "spines" when they differ.
  std::string end_name(std::size_t number, bool far) const {
    const Cabling& cabling = *graph_->cabling;
    const std::int64_t end = end_of(first_hop_[number], far);
    if (end < cabling.ports()) {
      return fmt::format("node {}: nic {}", end / graph_->nics(), end % graph_->nics());
    }
    std::string name = cabling.name_of(end - cabling.ports());
    if (end == end_of(last_hop_[number], far)) return name;
    return name.substr(0, name.rfind(' ')) + "s";
  }
  std::string name_in_fabric(std::size_t number) const {
    return fmt::format("{} -> {}", end_name(number, false), end_name(number, true));
  }

  std::shared_ptr<const Graph> graph_;
  RoutingOptions options_;
  std::vector<LinkId> first_link_;         // of each node, then of the fabric
  std::vector<LinkId> link_of_;            // per hop of the fabric
  std::vector<Hop> first_hop_, last_hop_;  // per link of the fabric
};

}  // namespace

RoutingOptions routing_of(const Cluster& cluster) {
  const Fabric& fabric = cluster.graph->fabric;
  return {fabric.spreading, cluster.seed, fabric.rail_forwarding};
}

std::shared_ptr<const Network> make_network(const Cluster& cluster, const RoutingOptions& options) {
  return std::make_shared<GraphNetwork>(cluster.graph, options);
}

}  // namespace plait
