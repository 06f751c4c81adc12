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

template <class Map>
typename Map::mapped_type& entry(std::mutex& mutex, Map& map, const typename Map::key_type& key) {
  const std::lock_guard lock(mutex);
  return map[key];
}

}  // namespace

Groups::Groups(const Cluster& cluster, bool in_order)
    : cluster_(cluster),
      in_order_(in_order),
      world_(cluster.world_size()),
      period_(symmetry_period(cluster)) {}

const std::vector<GroupPlacement>& Groups::of(std::int64_t size, std::int64_t stride) {
  auto& known = entry(mutex_, groups_, std::pair(size, stride));
  std::call_once(known.once, [&] { place(size, stride, known.all); });
  return known.all;
}

void Groups::place(std::int64_t size, std::int64_t stride, std::vector<GroupPlacement>& out) const {
  const std::int64_t run = cluster_.graph->run(), reach = (size - 1) * stride;
  std::vector<char> seen(static_cast<std::size_t>(period_));
  const std::int64_t per_node = cluster_.devices_per_node;
  std::vector<char> inside_a_run(static_cast<std::size_t>(per_node));
  std::vector<std::int64_t> devices(static_cast<std::size_t>(size));
  for (std::int64_t block = 0; block < world_; block += size * stride) {
    for (std::int64_t first = block; first < block + stride; ++first) {
      const bool inside = run > 0 && first % run + reach < run;
      char& done = inside ? inside_a_run[static_cast<std::size_t>(first % per_node)]
                          : seen[static_cast<std::size_t>(first % period_)];
      if (done != 0) continue;
      done = 1;
      for (std::int64_t i = 0; i < size; ++i) {
        devices[static_cast<std::size_t>(i)] = first + i * stride;
      }
      add_new(out, place_group(cluster_, devices));
    }
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
