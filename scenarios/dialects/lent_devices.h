#pragma once
// What a file's ranks are on the machine of its base: a server takes as many devices as it has
// ranks, and one rank alone shards nothing.

#include <cstdint>
#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/scenario_tree.h"
#include "scenarios/scenario.h"

namespace plait {

/// A server's ranks are all that there are: of a larger machine it has as many devices (W008).
void take_devices(ScenarioTree& tree, const Cluster& machine, std::int64_t ranks,
                  Warnings* warnings);
/// One rank has nobody to shard with, unless its shard is in host memory: zero_stage is 0 (W008).
void keep_whole(ScenarioTree& tree, Warnings* warnings);

}  // namespace plait
