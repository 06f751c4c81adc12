#pragma once
// On which device a rank runs: `placement` lists the devices of all ranks; empty: rank r runs on
// device r.

#include <cstdint>
#include <string>
#include <vector>

namespace plait {

inline std::int64_t device_of(std::int64_t rank, const std::vector<std::int64_t>& placement) {
  return placement.empty() ? rank : placement[static_cast<std::size_t>(rank)];
}

struct Cluster;

/// The name of each rank's device; empty where all have the same.
std::vector<std::string> devices_of_ranks(const Cluster& cluster,
                                          const std::vector<std::int64_t>& placement);

}  // namespace plait
