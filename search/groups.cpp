#include "search/groups.h"

#include <algorithm>
#include <array>
#include <utility>

#include "topologies/graph.h"

namespace plait {
namespace {

template <class T>
void add_new(std::vector<T>& known, const T& value) {
  if (std::ranges::find(known, value) == known.end()) known.push_back(value);
}

/// Those of the lattice that begins at `first`.
std::vector<std::int64_t> devices(const Lattice& lattice, std::int64_t first) {
  std::vector<std::int64_t> out = {first};
  out.reserve(static_cast<std::size_t>(lattice.size()));
  for (const auto& [size, stride] : lattice) {
    const std::size_t inner = out.size();
    for (std::int64_t i = 1; i < size; ++i) {
      for (std::size_t k = 0; k < inner; ++k) out.push_back(out[k] + i * stride);
    }
  }
  return out;
}

template <class Map>
typename Map::mapped_type& entry(std::mutex& mutex, Map& map, const typename Map::key_type& key) {
  const std::lock_guard lock(mutex);
  return map[key];
}

}  // namespace

Groups::Groups(const Cluster& cluster, bool known)
    : cluster_(cluster),
      known_(known),
      world_(cluster.world_size()),
      period_(symmetry_period(cluster)) {}

const std::vector<GroupPlacement>& Groups::of(const Lattice& lattice) {
  auto& known = entry(mutex_, groups_, lattice);
  std::call_once(known.once, [&] { place(lattice, known.all); });
  return known.all;
}

void Groups::place(const Lattice& lattice, std::vector<GroupPlacement>& out) const {
  const std::int64_t run = cluster_.graph->run(), reach = lattice.reach();
  std::vector<char> seen(static_cast<std::size_t>(period_));
  const std::int64_t per_node = cluster_.devices_per_node;
  std::vector<char> inside_a_run(static_cast<std::size_t>(per_node));
  for (std::int64_t first = 0; first < world_; first = lattice.next_beginning(first + 1)) {
    const bool inside = run > 0 && first % run + reach < run;
    char& done = inside ? inside_a_run[static_cast<std::size_t>(first % per_node)]
                        : seen[static_cast<std::size_t>(first % period_)];
    if (std::exchange(done, 1) == 0) add_new(out, place_group(cluster_, devices(lattice, first)));
  }
}

const Groups::Ways& Groups::ways(std::int64_t distance, std::int64_t stages) {
  auto& known = entry(mutex_, ways_, std::pair(distance, stages));
  std::call_once(known.once, [&] { find_ways(distance, stages, known.all); });
  return known.all;
}

void Groups::find_ways(std::int64_t distance, std::int64_t stages, Ways& out) const {
  const Graph& g = *cluster_.graph;
  std::vector<std::int64_t> pipeline;
  for (std::int64_t s = 0; s < stages; ++s) pipeline.push_back(s * distance);
  const auto way = [&](std::int64_t from, std::int64_t to) {
    return route_to_peer(cluster_, from, to, pipeline, world_ / stages).all;
  };
  const auto both = [&](std::int64_t a, std::int64_t b) {
    return std::array<Path, 2>{way(a, b), way(b, a)};
  };
  // As in sim/sites.cpp: from one place to another, equally close, ways are the same, but for the
  // one around the corner.
  std::map<std::array<std::int64_t, 4>, std::array<Path, 2>> known;
  const auto closeness = [&](std::int64_t a, std::int64_t b) {
    return a / g.size() == b / g.size() ? -1 : g.cabling->closeness(a / g.size(), b / g.size());
  };
  for (std::size_t s = 0; s < pipeline.size(); ++s) {
    const std::int64_t a = pipeline[s], b = pipeline[(s + 1) % pipeline.size()];
    if (g.uneven() || g.cabling == nullptr) {
      out.push_back(both(a, b));
      continue;
    }
    const bool corner = s + 1 == pipeline.size();
    const auto [at, fresh] =
        known.try_emplace({a % g.size(), b % g.size(), closeness(a, b), corner ? 1 : 0});
    if (fresh) at->second = both(a, b);
    out.push_back(at->second);
  }
}

}  // namespace plait
