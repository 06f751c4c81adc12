#include "search/groups.h"

#include <algorithm>
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

const std::vector<Path>& Groups::routes(std::int64_t distance) {
  auto& known = entry(mutex_, routes_, distance);
  std::call_once(known.once, [&] {
    const std::int64_t run = cluster_.graph->run(), per_node = cluster_.devices_per_node;
    std::vector<char> inside_a_run(static_cast<std::size_t>(per_node));
    for (std::int64_t d = 0; d < std::min(period_, world_ - distance); ++d) {
      if (run > 0 && d / run == (d + distance) / run) {
        char& done = inside_a_run[static_cast<std::size_t>(d % per_node)];
        if (std::exchange(done, 1) != 0) continue;
      }
      add_new(known.all, route(cluster_, d, d + distance));
    }
  });
  return known.all;
}

}  // namespace plait
