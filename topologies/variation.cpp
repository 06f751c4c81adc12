#include "topologies/variation.h"

#include "core/random.h"

namespace plait {

double slowest_device(double variation, std::int64_t devices) {
  const auto n = static_cast<double>(devices);
  return 1 + variation / 2 * (n - 1) / (n + 1);
}

double slowdown_of(const Cluster& cluster, std::int64_t device) {
  double f = 1;
  if (cluster.jitter > 0) {
    const std::uint64_t bits =
        scramble(cluster.seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(device)) >> 11;
    f += cluster.jitter * static_cast<double>(bits) * 0x1p-53;
  }
  for (const Slowdown& s : cluster.slowdowns) {
    if (s.device == device) f *= s.factor;
  }
  return f;
}

}  // namespace plait
