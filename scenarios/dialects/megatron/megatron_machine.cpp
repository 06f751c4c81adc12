// How many nodes a script starts on, and devices of each: as it tells torchrun, deepspeed or srun,
// or else sbatch in its head. Or how many processes srun, mpirun and kin start, a GPU each.

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/dialects/megatron/megatron.h"
#include "scenarios/dialects/shell/slurm_head.h"
#include "scenarios/dialects/shell/started_ranks.h"

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

SlurmCount first_said(std::initializer_list<SlurmCount> counts) {
  const auto* said = std::ranges::find_if(counts, [](const SlurmCount& c) { return c.value > 0; });
  return said == counts.end() ? SlurmCount() : *said;
}

void give_count(const char* path, const SlurmCount& count, Imported& out) {
  if (count.value > 0) out.give(path, std::to_string(count.value), count.line);
}

/// What follows from the number of all: nodes, or GPUs of each.
SlurmCount shared_out(const SlurmCount& all, const SlurmCount& by) {
  const bool whole = by.value > 0 && all.value % by.value == 0;
  return whole ? SlurmCount{all.value / by.value, all.line} : SlurmCount();
}

}  // namespace

void read_machine(Arguments& args, const std::vector<ShellWord>& words, const std::string& text,
                  Imported& out) {
  const SlurmHead head = slurm_head(text);
  const StartedRanks started = started_ranks(words, args);
  SlurmCount nodes = first_said({of_options(args, {"--nnodes", "--num-nodes", "--nodes"}),
                                 started.nodes, head.nodes}),
             each = first_said(
                 {of_options(args, {"--nproc-per-node", "--num-gpus", "--gpus-per-node"}),
                  started.each, head.devices_per_node});
  if (each.value == 0) each = shared_out(started.all, nodes);
  if (nodes.value == 0) nodes = shared_out(started.all, each);
  give_count("cluster.nodes", nodes, out);
  give_count("cluster.devices_per_node", each, out);
  if (nodes.value == 0 && each.value == 0 && started.all.value > 0) {
    out.started = {"cluster.nodes", std::to_string(started.all.value), started.all.line};
  }
}

}  // namespace plait::megatron
