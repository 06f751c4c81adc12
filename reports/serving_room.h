#pragma once
// A server before it serves: whether weights and a cache have room on its devices, and what takes
// it.

#include <string>
#include <vector>

#include "reports/serving.h"

namespace plait {

/// The verdict, the cache, and what else is in the memory of the fullest device; of each pool.
std::vector<Line> room_lines(const ServingReport& report);

/// As to_json, without a service.
std::string room_json(const ServingReport& report);

/// item,bytes,source of that device: its tensors, its overheads, and what is left for the cache.
std::string room_csv(const ServingReport& report);

}  // namespace plait
