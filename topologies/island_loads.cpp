#include "topologies/island_loads.h"

#include "topologies/paths.h"

namespace plait {

IslandLoads::IslandLoads(const IslandKind& kind)
    : routes_(kind.routes),
      links_(static_cast<std::size_t>(kind.routes.links())),
      flows_(links_.size()) {
  const LinkGraph& g = kind.island.links;
  for (auto [e, end] = boost::edges(g); e != end; ++e) links_[g[*e].number] = g[*e];
}

void IslandLoads::add(std::int64_t from, std::int64_t to) {
  way_.clear();
  routes_.walk(from, to, way_);
  for (const std::uint32_t link : way_) ++flows_[link];
}

void IslandLoads::add_ring(const std::vector<std::int64_t>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    add(devices[i], devices[(i + 1) % devices.size()]);
}

void IslandLoads::divide(std::int64_t from, std::int64_t to, Path& path) const {
  std::vector<std::uint32_t> way;
  routes_.walk(from, to, way);
  for (const std::uint32_t link : way) {
    if (flows_[link] < 2 || links_[link].link == LinkClass::kNvlink) continue;
    narrow(path, links_[link].link, links_[link].bandwidth / static_cast<double>(flows_[link]));
  }
}

}  // namespace plait
