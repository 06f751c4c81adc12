#include "search/groups.h"

#include <algorithm>

namespace plait {
namespace {

template <class T>
void add_new(std::vector<T>& known, const T& value) {
  if (std::ranges::find(known, value) == known.end()) known.push_back(value);
}

}  // namespace

Groups::Groups(const Cluster& cluster, bool in_order)
    : cluster_(cluster),
      in_order_(in_order),
      world_(cluster.world_size()),
      period_(symmetry_period(cluster)) {}

const std::vector<GroupPlacement>& Groups::of(std::int64_t size, std::int64_t stride) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = groups_.try_emplace({size, stride});
  std::vector<GroupPlacement>& out = at->second;
  if (!fresh) return out;
  std::vector<char> seen(static_cast<std::size_t>(period_));
  std::vector<std::int64_t> devices(static_cast<std::size_t>(size));
  for (std::int64_t block = 0; block < world_; block += size * stride) {
    for (std::int64_t first = block; first < block + stride; ++first) {
      char& done = seen[static_cast<std::size_t>(first % period_)];
      if (done != 0) continue;
      done = 1;
      for (std::int64_t i = 0; i < size; ++i) {
        devices[static_cast<std::size_t>(i)] = first + i * stride;
      }
      add_new(out, place_group(cluster_, devices));
    }
  }
  return out;
}

const std::vector<Path>& Groups::routes(std::int64_t distance) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = routes_.try_emplace(distance);
  if (!fresh) return at->second;
  for (std::int64_t d = 0; d < std::min(period_, world_ - distance); ++d) {
    add_new(at->second, route(cluster_, d, d + distance));
  }
  return at->second;
}

}  // namespace plait
