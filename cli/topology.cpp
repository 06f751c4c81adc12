// plait topology show SCENARIO-or-PRESET: what a machine is made of and what it can carry.

#include "reports/topology.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/topology.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "scenarios/file_kind.h"
#include "scenarios/machine.h"
#include "topologies/catalogue.h"

namespace plait {
namespace {

struct ShowOptions {
  ScenarioOptions machine;
  std::int64_t nodes = 0;
  OutputOptions output;
  std::string svg;
};

/// Or of a file that is there, unless the catalogue knows the word.
bool is_file_name(const std::string& word) {
  if (word == "-" || word.ends_with(".json") || word.find('/') != std::string::npos) return true;
  const std::vector<std::string> known = cluster_names();
  return std::ranges::find(known, word) == known.end() && std::filesystem::is_regular_file(word);
}

/// The preset or file that `word` names. Throws InputError C001 when it is neither.
DescribedCluster machine_of(const std::string& word, std::vector<Override> overrides,
                            std::int64_t nodes) {
  if (nodes > 0) overrides.push_back({"cluster.nodes", std::to_string(nodes)});
  if (is_file_name(word)) {
    const std::string text = read_text_file(word);
    if (text.starts_with('<')) refuse_other_files(text, input_name(word));  // NCCL's XML
    return parse_machine(text, input_name(word), overrides);
  }
  const std::string preset = json_object({{"preset", json_quote(find_node(word).name)}});
  return parse_machine(preset, word, overrides);
}

/// What is wrong is in the file, where the machine is of one.
TopologySummary summarized(const Cluster& cluster, const std::string& word, const Watch& watch) {
  try {
    return summarize(cluster, watch);
  } catch (const InputError& error) {
    InputError::Text text = error.text();
    if (is_file_name(word)) text.where.file = input_name(word);
    throw InputError(std::move(text));
  }
}

std::string written(const ShowOptions& options, const Cluster& cluster,
                    const TopologySummary& summary) {
  const std::string& file = options.output.file;
  if (options.output.format == "dot" || (options.output.format.empty() && file.ends_with(".dot"))) {
    return topology_dot(expand(*cluster.graph), cluster.name);
  }
  if (options.output.kind() == Format::kJson) return topology_json(summary);
  return render(topology_lines(summary), options.output.style());
}

int show(const ShowOptions& options) {
  if (const std::string help = help_for_sets(options.machine.sets); !help.empty()) {
    print_result(options.output, help);
    return kYes;
  }
  ProgressLine progress("summing up the machine");
  const auto [cluster, warnings] =
      machine_of(options.machine.file, options.machine.overrides(), options.nodes);
  const Watch watch = progress.watch("devices: their longest routes");
  const TopologySummary summary = summarized(cluster, options.machine.file, watch);
  if (!options.svg.empty()) {
    write_file(options.svg, topology_svg(cluster, summary));
  }
  const std::string text = written(options, cluster, summary);
  progress.finish();
  print_warnings(warnings);
  print_result(options.output, text);
  return kYes;
}

void add_show(Subcommand topology) {
  auto options = std::make_shared<ShowOptions>();
  Subcommand sub = topology.subcommand("show", "What a machine is made of and can carry");
  sub.option("machine", options->machine.file,
             "A cluster of the catalogue (plait list clusters), a scenario, or a file with its "
             "\"cluster\" alone; - reads standard input")
      .takes("CLUSTER|FILE")
      .required();
  sub.option("--nodes", options->nodes, "So many nodes").positive();
  sub.option("--set", options->machine.sets, "Change a field: cluster.fabric.bandwidth=...")
      .takes("PATH=VALUE")
      .repeatable();
  sub.option("-o,--output", options->output.file, "Write the summary to this file").writes_file();
  sub.option("--format", options->output.format,
             "text, json, or dot: every link, for Graphviz (default: by the suffix of FILE, "
             "else text)")
      .one_of({"text", "json", "dot"});
  sub.option("--svg", options->svg, "Also draw the machine").writes_file();
  sub.runs([options] { return show(*options); });
}

}  // namespace

void add_topology(Command& command) {
  Subcommand sub = command.program.subcommand("topology", "Look at a machine");
  sub.needs_subcommand();
  add_show(sub);
  add_topology_import(sub);
}

}  // namespace plait
