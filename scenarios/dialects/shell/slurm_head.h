#pragma once
// What the head of a script asks sbatch for, "#SBATCH --nodes=4", and the variables that Slurm sets
// by it.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plait {

struct SlurmCount {
  std::int64_t value = 0;  // 0: not said
  int line = 0;
};
/// Of the last line that says it, each.
struct SlurmHead {
  SlurmCount nodes, devices_per_node, tasks_per_node, cpus_per_task;
};
SlurmHead slurm_head(const std::string& script);

/// Names and values of what sbatch sets where the head says it (man sbatch, output environment
/// variables).
std::vector<std::pair<std::string, std::string>> slurm_variables(const std::string& script);

}  // namespace plait
