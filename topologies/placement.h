#pragma once
// On which device a rank runs: `placement` lists the devices of all ranks; empty: rank r runs on
// device r.

#include <cstdint>
#include <vector>

namespace plait {

inline std::int64_t device_of(std::int64_t rank, const std::vector<std::int64_t>& placement) {
  return placement.empty() ? rank : placement[static_cast<std::size_t>(rank)];
}

}  // namespace plait
