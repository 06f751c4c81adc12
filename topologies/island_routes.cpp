#include "topologies/island_routes.h"

#include <algorithm>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <tuple>

#include "core/error.h"

namespace plait {
namespace {

/// Links out of `origin` and out of everything that is not a device. (Only devices and NVSwitches
/// have NVLinks and devices do not forward, so a route is NVLink throughout or not at all, and the
/// order of Distances survives extension, as Dijkstra's algorithm needs.)
struct Forwards {
  const LinkGraph* graph = nullptr;
  VertexId origin = 0;
  bool operator()(const LinkGraph::edge_descriptor& e) const {
    const VertexId from = boost::source(e, *graph);
    return from == origin || (*graph)[from].kind != VertexKind::kDevice;
  }
};

struct RecordLast : boost::default_dijkstra_visitor {
  std::vector<std::uint32_t>* last_link = nullptr;
  template <class Edge, class G>
  void edge_relaxed(const Edge& e, const G& graph) const {
    (*last_link)[boost::target(e, graph)] = graph[e].number;
  }
};

Distance extend(const Distance& d, const Link& step) {
  return d.reached() ? d.then(over(step.link, step.bandwidth, step.latency)) : d;
}

}  // namespace

RouteTree routes_from(const LinkGraph& graph, VertexId origin) {
  const boost::filtered_graph<LinkGraph, Forwards> open(graph, Forwards{&graph, origin});
  RouteTree out;
  out.distance.resize(boost::num_vertices(graph));
  out.last_link.resize(boost::num_vertices(graph));
  std::vector<VertexId> previous(boost::num_vertices(graph));
  RecordLast record;
  record.last_link = &out.last_link;
  const auto index = boost::get(boost::vertex_index, graph);
  boost::dijkstra_shortest_paths(open, origin,
                                 boost::make_iterator_property_map(previous.begin(), index),
                                 boost::make_iterator_property_map(out.distance.begin(), index),
                                 boost::get(boost::edge_bundle, graph), index,
                                 std::less<Distance>(), extend, kUnreachable, Distance{}, record);
  return out;
}

std::vector<VertexId> number_links(LinkGraph& graph) {
  std::vector<VertexId> source;
  for (VertexId v = 0; v < boost::num_vertices(graph); ++v) {
    for (auto [e, end] = boost::out_edges(v, graph); e != end; ++e) {
      graph[*e].number = static_cast<std::uint32_t>(source.size());
      source.push_back(v);
    }
  }
  return source;
}

IslandRoutes::IslandRoutes(Island& island, std::int64_t rails)
    : rails_(rails),
      devices_(island.devices),
      nics_(island.nics),
      nic_of_(island.nic_of),
      source_(number_links(island.links)) {
  for (const VertexId d : devices_) from_device_.push_back(routes_from(island.links, d));
  for (const VertexId k : nics_) from_nic_.push_back(routes_from(island.links, k));
  if (!nics_.empty()) choose_nics();
}

bool IslandRoutes::connected() const {
  return std::ranges::all_of(from_device_, [this](const RouteTree& tree) {
    return std::ranges::all_of(devices_, [&](VertexId to) { return tree.distance[to].reached(); });
  });
}

void IslandRoutes::choose_nics() {
  const auto width = static_cast<std::size_t>(rails_ + 1);
  exit_.assign(devices_.size() * width, -1);
  entry_ = exit_;
  served_.resize(static_cast<std::size_t>(rails_));
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const auto device = static_cast<std::int64_t>(d);
    const auto improve = [&](std::int32_t& best, std::size_t nic, auto&& distance) {
      if (!distance(static_cast<std::int64_t>(nic)).reached()) return;
      const auto key = [&](std::size_t k) {
        return std::tuple(distance(static_cast<std::int64_t>(k)), k != nic_of_[d]);
      };
      if (best < 0 || key(nic) < key(static_cast<std::size_t>(best)))
        best = static_cast<std::int32_t>(nic);
    };
    for (std::size_t k = 0; k < nics_.size(); ++k) {
      for (const std::size_t column : {k % static_cast<std::size_t>(rails_), width - 1}) {
        improve(exit_[d * width + column], k, [&](std::int64_t nic) { return out(device, nic); });
        improve(entry_[d * width + column], k, [&](std::int64_t nic) { return in(nic, device); });
      }
    }
    auto& served = served_[static_cast<std::size_t>(rail_of(device))];
    order_.push_back(static_cast<std::int32_t>(served.size()));
    served.push_back(static_cast<std::int32_t>(d));
  }
}

const Distance& IslandRoutes::between(std::int64_t from, std::int64_t to) const {
  return from_device_[static_cast<std::size_t>(from)]
      .distance[devices_[static_cast<std::size_t>(to)]];
}

const Distance& IslandRoutes::out(std::int64_t device, std::int64_t nic) const {
  return from_device_[static_cast<std::size_t>(device)]
      .distance[nics_[static_cast<std::size_t>(nic)]];
}

const Distance& IslandRoutes::in(std::int64_t nic, std::int64_t device) const {
  return from_nic_[static_cast<std::size_t>(nic)]
      .distance[devices_[static_cast<std::size_t>(device)]];
}

void IslandRoutes::walk(const RouteTree& tree, VertexId to,
                        std::vector<std::uint32_t>& links) const {
  const auto first = static_cast<std::ptrdiff_t>(links.size());
  for (int hops = tree.distance[to].hops; hops > 0; --hops) {
    links.push_back(tree.last_link[to]);
    to = source_[links.back()];
  }
  std::reverse(links.begin() + first, links.end());
}

void IslandRoutes::walk(std::int64_t from, std::int64_t to,
                        std::vector<std::uint32_t>& links) const {
  walk(from_device_[static_cast<std::size_t>(from)], devices_[static_cast<std::size_t>(to)], links);
}

void IslandRoutes::walk_out(std::int64_t device, std::int64_t nic,
                            std::vector<std::uint32_t>& links) const {
  walk(from_device_[static_cast<std::size_t>(device)], nics_[static_cast<std::size_t>(nic)], links);
}

void IslandRoutes::walk_in(std::int64_t nic, std::int64_t device,
                           std::vector<std::uint32_t>& links) const {
  walk(from_nic_[static_cast<std::size_t>(nic)], devices_[static_cast<std::size_t>(device)], links);
}

std::int64_t IslandRoutes::nic_of(std::int64_t device) const {
  return static_cast<std::int64_t>(nic_of_[static_cast<std::size_t>(device)]);
}

std::int64_t IslandRoutes::forwarder(std::int64_t device, std::int64_t rail) const {
  const auto& served = served_[static_cast<std::size_t>(rail)];
  if (served.empty()) return -1;
  const auto order = static_cast<std::size_t>(order_[static_cast<std::size_t>(device)]);
  const std::int64_t to = served[order % served.size()];
  return between(device, to).beyond_nvlink || to == device ? -1 : to;
}

}  // namespace plait
