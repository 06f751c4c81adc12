#pragma once
// From the words of a published run on its GPUs and its fabric to the `cluster` of a scenario.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// The `cluster` of a scenario; adds to `assumed` what the record does not say. Throws
/// NotRepresentable for a device that the catalogue lacks.
nlohmann::ordered_json cluster_of(const PublishedRun& run, std::vector<std::string>& assumed);

/// The name in the catalogue of the run's GPU; empty where it has none.
std::string device_of_run(const PublishedRun& run);

/// Of the machine that its GPU is usually in; of a tray where a domain has several.
std::int64_t usual_gpus_per_node(const PublishedRun& run);

}  // namespace plait
