#pragma once
// The rank at place `tp` of a stage of a replica, and its device.

#include <cstdint>

#include "serving/step_costs.h"

namespace plait {

std::int64_t replica_rank(const Mesh& mesh, std::int64_t stage, std::int64_t replica,
                          std::int64_t tp);
std::int64_t replica_device(const ServedModel& served, std::int64_t stage, std::int64_t replica,
                            std::int64_t tp);

}  // namespace plait
