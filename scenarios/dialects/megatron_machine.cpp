// How many nodes a script starts on, and devices of each: as it tells torchrun, deepspeed or srun,
// or else sbatch in its head.

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "scenarios/dialects/megatron.h"

namespace plait::megatron {
namespace {

struct Count {
  std::int64_t value = 0;  // 0: not said
  int line = 0;
};

/// Of the first of these options that has a number; what a variable says, only a run knows.
Count of_options(Arguments& args, std::initializer_list<const char*> names) {
  Count out;
  for (const char* name : names) {
    const Arguments::Option* option = args.find(name);
    const bool said = option != nullptr && !option->values.empty();
    if (!said || option->values.front().unknown || out.value > 0) continue;
    out = {*args.integer(name), option->line};
  }
  return out;
}

/// Of the last line of comments for sbatch that says it: "#SBATCH --nodes=4".
Count of_sbatch(const std::string& text, const std::regex& option) {
  Count out;
  std::istringstream lines(text);
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    std::smatch found;
    const bool says = line.starts_with("#SBATCH ") && std::regex_search(line, found, option);
    if (says) out = {std::stoll(found[1]), n};
  }
  return out;
}

void give_count(const char* path, const Count& said, const Count& otherwise, Imported& out) {
  const Count& count = said.value > 0 ? said : otherwise;
  if (count.value > 0) out.give(path, std::to_string(count.value), count.line);
}

}  // namespace

void read_machine(Arguments& args, const std::string& text, Imported& out) {
  static const std::regex nodes(R"((?:--nodes[= ]|-N ?)(\d{1,9})(?![\d-]))");
  static const std::regex each(
      R"((?:--gpus-per-node[= ]|--gres[= ]gpu:)(?:[\w.-]+:)?(\d{1,9})(?!\d))");
  give_count("cluster.nodes", of_options(args, {"--nnodes", "--num-nodes", "--nodes"}),
             of_sbatch(text, nodes), out);
  give_count("cluster.devices_per_node",
             of_options(args, {"--nproc-per-node", "--num-gpus", "--gpus-per-node"}),
             of_sbatch(text, each), out);
}

}  // namespace plait::megatron
