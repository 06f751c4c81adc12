// How many nodes a script starts on, and devices of each: as it tells torchrun, deepspeed or srun,
// or else sbatch in its head. Or how many processes srun, mpirun and kin start, a GPU each.

#include "scenarios/dialects/launched_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/parse_number.h"
#include "core/split.h"
#include "scenarios/dialects/shell/slurm_head.h"
#include "scenarios/dialects/shell/started_ranks.h"

namespace plait {
namespace {

/// Of torchrun: as many as the machine has (torch/distributed/run.py, determine_local_world_size).
bool is_all(const std::string& count) { return count == "gpu" || count == "auto"; }

/// Of torchrun's "1:4" the number where both are the same, and else D006: how many there are, a run
/// knows (torch/distributed/run.py, parse_min_max_nnodes).
std::optional<std::int64_t> of_range(Arguments& args, const char* name, const std::string& count) {
  const std::size_t colon = count.find(':');
  if (colon == std::string::npos) return std::nullopt;
  if (count.substr(0, colon) != count.substr(colon + 1))
    args.unsupported(name, fmt::format("{} nodes, as many as there are", count));
  return parse_number<std::int64_t>(count.substr(0, colon));
}

/// Of the first of these options that has a number; what a variable says, only a run knows.
SlurmCount of_options(Arguments& args, std::initializer_list<const char*> names) {
  SlurmCount out;
  for (const char* name : names) {
    const Arguments::Option* option = args.find(name);
    const bool said = option != nullptr && !option->values.empty();
    if (!said || option->values.front().unknown || out.value > 0) continue;
    const std::string& count = option->values.front().text;
    if (is_all(count)) continue;
    const auto fixed = of_range(args, name, count);
    out = {fixed ? *fixed : *args.integer(name), option->line};
  }
  return out;
}

struct IncludedHosts {
  SlurmCount nodes, each;
};
/// deepspeed --include "host1:0,1@host2:0,1": hosts, and devices of each where these are listed
/// (deepspeed/launcher/runner.py, parse_resource_filter).
IncludedHosts included_hosts(Arguments& args, const std::vector<ShellWord>& words) {
  const bool starts = std::ranges::any_of(words, [](const ShellWord& w) {
    return w.text == "deepspeed" || w.text.ends_with("/deepspeed");
  });
  const Arguments::Option* option = starts ? args.find("--include") : nullptr;
  if (option == nullptr || option->values.empty() || option->values.front().unknown) return {};
  std::vector<std::int64_t> slots;
  for (const std::string& host : split(option->values.front().text, '@')) {
    const std::size_t colon = host.find(':');
    const bool all = colon == std::string::npos;
    slots.push_back(all ? 0 : std::ssize(split(host.substr(colon + 1), ',')));
  }
  if (std::ranges::adjacent_find(slots, std::ranges::not_equal_to()) != slots.end())
    args.unsupported("--include", "other numbers of devices on each host");
  return {{std::ssize(slots), option->line}, {slots.front(), option->line}};
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
  const IncludedHosts included = included_hosts(args, words);
  SlurmCount nodes = first_said({of_options(args, {"--nnodes", "--num-nodes", "--nodes"}),
                                 included.nodes, started.nodes, head.nodes}),
             each = first_said(
                 {of_options(args, {"--nproc-per-node", "--num-gpus", "--gpus-per-node"}),
                  included.each, started.each, head.devices_per_node});
  if (each.value == 0) each = shared_out(started.all, nodes);
  if (nodes.value == 0) nodes = shared_out(started.all, each);
  give_count("cluster.nodes", nodes, out);
  give_count("cluster.devices_per_node", each, out);
  if (nodes.value == 0 && each.value == 0 && started.all.value > 0) {
    out.started = {"cluster.nodes", std::to_string(started.all.value), started.all.line};
  }
}

}  // namespace plait
