#include "topologies/island_loads.h"

#include <algorithm>
#include <limits>

#include "topologies/paths.h"

namespace plait {

constexpr double kRounding = 1e-9;  // of parts that are summed

IslandLoads::IslandLoads(const IslandKind& kind)
    : routes_(kind.routes),
      links_(static_cast<std::size_t>(kind.routes.links())),
      flows_(links_.size()) {
  const LinkGraph& g = kind.island.links;
  for (auto [e, end] = boost::edges(g); e != end; ++e) links_[g[*e].number] = g[*e];
}

void IslandLoads::add(std::int64_t from, std::int64_t to, double part) {
  way_.clear();
  routes_.walk(from, to, way_);
  for (const std::uint32_t link : way_) flows_[link] += part;
}

void IslandLoads::add_ring(const std::vector<std::int64_t>& devices) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    add(devices[i], devices[(i + 1) % devices.size()]);
}

void IslandLoads::add_exchange(const std::vector<std::int64_t>& devices) {
  const double part = 1 / static_cast<double>(devices.size() - 1);
  for (const std::int64_t from : devices) {
    for (const std::int64_t to : devices) {
      if (from != to) add(from, to, part);
    }
  }
}

Link IslandLoads::narrowest() const {
  Link out;
  out.bandwidth = BytesPerSecond(std::numeric_limits<double>::infinity());
  for (std::size_t l = 0; l < links_.size(); ++l) {
    if (flows_[l] == 0) continue;
    const BytesPerSecond left = links_[l].bandwidth / flows_[l];
    if (left < out.bandwidth) out = links_[l], out.bandwidth = left;
  }
  return out;
}

std::vector<std::uint32_t> IslandLoads::ways_to_nic(std::int64_t device) const {
  std::vector<std::uint32_t> out;
  routes_.walk_out(device, routes_.nic_of(device), out);
  routes_.walk_in(routes_.nic_of(device), device, out);
  return out;
}

void IslandLoads::add_to_nic(std::int64_t device) {
  for (const std::uint32_t link : ways_to_nic(device)) ++flows_[link];
}

BytesPerSecond IslandLoads::share_to_nic(std::int64_t device) const {
  BytesPerSecond least(std::numeric_limits<double>::infinity());
  for (const std::uint32_t link : ways_to_nic(device))
    least = std::min(least, links_[link].bandwidth / flows_[link]);
  return least;
}

void IslandLoads::divide(std::int64_t from, std::int64_t to, Path& path) const {
  std::vector<std::uint32_t> way;
  routes_.walk(from, to, way);
  for (const std::uint32_t link : way) {
    const bool shared = flows_[link] > 1 + kRounding;
    if (!shared || links_[link].link == LinkClass::kNvlink) continue;
    narrow(path, links_[link].link, links_[link].bandwidth / flows_[link]);
  }
}

BytesPerSecond share_through_host(const IslandKind& kind, std::span<const std::int64_t> devices) {
  BytesPerSecond least(std::numeric_limits<double>::infinity());
  if (!kind.island.through_host) return least;
  IslandLoads loads(kind);
  for (const std::int64_t d : devices) loads.add_to_nic(d);
  for (const std::int64_t d : devices) least = std::min(least, loads.share_to_nic(d));
  return least;
}

}  // namespace plait
