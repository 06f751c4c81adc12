#include "scenarios/dialects/shell/slurm_head.h"

#include <regex>
#include <sstream>
#include <string_view>

namespace plait {
namespace {

struct Asked {
  std::regex option;
  SlurmCount SlurmHead::*count;
};

const std::vector<Asked>& asked() {
  static const std::vector<Asked> all = {
      {std::regex(R"((?:--nodes[= ]|-N ?)(\d{1,9})(?![\d-]))"), &SlurmHead::nodes},
      {std::regex(R"((?:--gpus-per-node[= ]|--gres[= ]gpu:)(?:[\w.-]+:)?(\d{1,9})(?!\d))"),
       &SlurmHead::devices_per_node},
      {std::regex(R"(--ntasks-per-node[= ](\d{1,9})(?!\d))"), &SlurmHead::tasks_per_node},
      {std::regex(R"((?:--cpus-per-task[= ]|-c ?)(\d{1,9})(?!\d))"), &SlurmHead::cpus_per_task}};
  return all;
}

struct Variable {
  std::string_view name;
  SlurmCount SlurmHead::*count;
};
constexpr Variable kVariables[] = {{"SLURM_NNODES", &SlurmHead::nodes},
                                   {"SLURM_JOB_NUM_NODES", &SlurmHead::nodes},
                                   {"SLURM_GPUS_PER_NODE", &SlurmHead::devices_per_node},
                                   {"SLURM_GPUS_ON_NODE", &SlurmHead::devices_per_node},
                                   {"SLURM_NTASKS_PER_NODE", &SlurmHead::tasks_per_node},
                                   {"SLURM_CPUS_PER_TASK", &SlurmHead::cpus_per_task}};

}  // namespace

SlurmHead slurm_head(const std::string& script) {
  SlurmHead out;
  std::istringstream lines(script);
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    if (!line.starts_with("#SBATCH ")) continue;
    for (const auto& [option, count] : asked()) {
      std::smatch found;
      if (std::regex_search(line, found, option)) out.*count = {std::stoll(found[1]), n};
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> slurm_variables(const std::string& script) {
  const SlurmHead head = slurm_head(script);
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, count] : kVariables) {
    const std::int64_t value = (head.*count).value;
    if (value > 0) out.emplace_back(name, std::to_string(value));
  }
  return out;
}

}  // namespace plait
