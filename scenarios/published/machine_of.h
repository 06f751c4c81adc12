#pragma once
// From the words of a published run on its GPUs and its fabric to the `cluster` of a scenario.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// What the words on a fabric say. Rates are per direction.
struct FabricWords {
  std::int64_t nics = 0;  // of a node; 0: not said
  double gigabits = 0;    // of one NIC; 0: not said
  bool ethernet = false;
  bool efa = false;  // AWS's
  bool omni_path = false;
};
/// "8x HDR 200 Gb/s IB per node", "1600 Gbps node-node (RoCE)", "400 Gb/s RDMA per GPU", ...
FabricWords read_fabric(const std::string& words, std::int64_t gpus_per_node);

/// The `cluster` of a scenario; adds to `assumed` what the record does not say. Throws
/// NotRepresentable for a device that the catalogue lacks.
nlohmann::ordered_json cluster_of(const PublishedRun& run, std::vector<std::string>& assumed);

}  // namespace plait
