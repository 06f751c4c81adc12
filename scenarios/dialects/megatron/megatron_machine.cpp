// How many nodes a script starts on, and devices of each: as it tells torchrun, deepspeed or srun,
// or else sbatch in its head.

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/shell/slurm_head.h"

namespace plait::megatron {
namespace {

/// Of the first of these options that has a number; what a variable says, only a run knows.
SlurmCount of_options(Arguments& args, std::initializer_list<const char*> names) {
  SlurmCount out;
  for (const char* name : names) {
    const Arguments::Option* option = args.find(name);
    const bool said = option != nullptr && !option->values.empty();
    if (!said || option->values.front().unknown || out.value > 0) continue;
    out = {*args.integer(name), option->line};
  }
  return out;
}

void give_count(const char* path, const SlurmCount& said, const SlurmCount& otherwise,
                Imported& out) {
  const SlurmCount& count = said.value > 0 ? said : otherwise;
  if (count.value > 0) out.give(path, std::to_string(count.value), count.line);
}

}  // namespace

void read_machine(Arguments& args, const std::string& text, Imported& out) {
  const SlurmHead head = slurm_head(text);
  give_count("cluster.nodes", of_options(args, {"--nnodes", "--num-nodes", "--nodes"}), head.nodes,
             out);
  give_count("cluster.devices_per_node",
             of_options(args, {"--nproc-per-node", "--num-gpus", "--gpus-per-node"}),
             head.devices_per_node, out);
}

}  // namespace plait::megatron
