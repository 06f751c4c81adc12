#include "scenarios/dialects/shell/started_ranks.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/parse_number.h"

namespace plait {
namespace {

/// jsrun starts resource sets, and tasks in each.
struct Counts {
  SlurmCount nodes, each, all, sets, sets_of_host, tasks_of_set;
};
struct CountOption {
  std::string_view launcher, name;
  SlurmCount Counts::*what;
};
/// Of srun (man srun), Open MPI's, MPICH's and Intel MPI's mpirun (man mpirun, mpiexec -help),
/// jsrun (IBM Spectrum LSF, Job Step Manager) and accelerate (accelerate/commands/launch.py).
constexpr CountOption kCounts[] = {{"srun", "-N", &Counts::nodes},
                                   {"srun", "--nodes", &Counts::nodes},
                                   {"srun", "-n", &Counts::all},
                                   {"srun", "--ntasks", &Counts::all},
                                   {"srun", "--ntasks-per-node", &Counts::each},
                                   {"mpi", "-np", &Counts::all},
                                   {"mpi", "--np", &Counts::all},
                                   {"mpi", "-n", &Counts::all},
                                   {"mpi", "--n", &Counts::all},
                                   {"mpi", "-c", &Counts::all},
                                   {"mpi", "-N", &Counts::each},
                                   {"mpi", "-npernode", &Counts::each},
                                   {"mpi", "--npernode", &Counts::each},
                                   {"mpi", "-ppn", &Counts::each},
                                   {"mpi", "--map-by", &Counts::each},
                                   {"mpi", "-map-by", &Counts::each},
                                   {"jsrun", "-n", &Counts::sets},
                                   {"jsrun", "--nrs", &Counts::sets},
                                   {"jsrun", "-r", &Counts::sets_of_host},
                                   {"jsrun", "--rs_per_host", &Counts::sets_of_host},
                                   {"jsrun", "-a", &Counts::tasks_of_set},
                                   {"jsrun", "--tasks_per_rs", &Counts::tasks_of_set},
                                   {"accelerate", "--num_processes", &Counts::all},
                                   {"accelerate", "--num_machines", &Counts::nodes}};

/// "" where the word is no launcher.
std::string_view launcher_in(const ShellWord& word) {
  const std::string_view text = word.text, name = text.substr(text.rfind('/') + 1);
  if (name == "mpirun" || name.starts_with("mpiexec")) return "mpi";
  for (const std::string_view known : {"srun", "jsrun", "accelerate"})
    if (name == known) return known;
  return "";
}
bool starts_those_of_a_node(const ShellWord& word) {
  const std::string_view text = word.text, name = text.substr(text.rfind('/') + 1);
  return name == "torchrun" || name == "deepspeed" || text.starts_with("torch.distributed.");
}

/// "8", or of --map-by "ppr:8:node".
std::optional<std::int64_t> count_in(std::string_view text) {
  constexpr std::string_view kMapped = "ppr:";
  if (text.starts_with(kMapped)) {
    const std::size_t end = text.find(":node");
    if (end == std::string_view::npos) return std::nullopt;
    text = text.substr(kMapped.size(), end - kMapped.size());
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  const auto count = parse_number<std::int64_t>(text);
  return count && *count > 0 && *count <= kMost ? count : std::nullopt;
}

/// What the word, "-N", "-N16" or "--nodes=16", gives, where `next` has its value.
void read_count(std::string_view launcher, const ShellWord& word, const ShellWord& next,
                Counts& out) {
  const std::string_view text = word.text;
  const std::size_t equals = std::min(text.find('='), text.size());
  for (const CountOption& option : kCounts) {
    if (option.launcher != launcher) continue;
    const bool whole = text.substr(0, equals) == option.name;
    const bool joined = option.name.size() == 2 && text.starts_with(option.name);
    if (!whole && !joined) continue;
    const std::string_view value = !whole                 ? text.substr(2)
                                   : equals < text.size() ? text.substr(equals + 1)
                                                          : std::string_view(next.text);
    if (const auto count = count_in(value)) out.*option.what = {*count, word.line};
    if (whole) return;
  }
}

SlurmCount product(const SlurmCount& a, const SlurmCount& b) {
  return {a.value * std::max<std::int64_t>(b.value, 1), a.line};
}

}  // namespace

StartedRanks started_ranks(const std::vector<ShellWord>& words, Arguments& arguments) {
  const auto is_script = [](const ShellWord& w) { return w.text.ends_with(".py"); };
  const auto end = std::ranges::find_if(words, is_script);
  const auto is_launcher = [](const ShellWord& w) { return !launcher_in(w).empty(); };
  const auto first = std::find_if(words.begin(), end, is_launcher);
  if (first == end) return {};
  const std::string_view launcher = launcher_in(*first);
  const auto behind = std::find_if(first, end, starts_those_of_a_node);
  Counts found;
  for (auto word = first + 1; word != behind; ++word)
    read_count(launcher, *word, word + 1 == words.end() ? *word : *(word + 1), found);
  for (const CountOption& option : kCounts) {
    std::string name(option.name);
    std::ranges::replace(name, '_', '-');
    if (option.launcher == launcher) arguments.find(name);
  }
  if (launcher == "jsrun" && found.sets.value > 0) {
    found.all = product(found.sets, found.tasks_of_set);
    if (found.sets_of_host.value > 0) found.each = product(found.sets_of_host, found.tasks_of_set);
  }
  if (behind != end) return {found.nodes, {}, {}};
  return {found.nodes, found.each, found.all};
}

}  // namespace plait
