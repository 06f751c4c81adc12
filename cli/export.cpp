// plait export SCENARIO --to DIALECT: the scenario as settings that paste and run, and what these
// cannot say.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/dialect_options.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/file.h"
#include "core/json.h"
#include "core/new_file.h"
#include "core/sha256.h"
#include "plait_version.h"
#include "plan/refusal.h"
#include "prediction/costs.h"
#include "prediction/prediction.h"
#include "prediction/serving.h"
#include "reports/chakra.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

constexpr const char* kChakra = "chakra";
/// Two gigabytes or so.
constexpr std::int64_t kMostNodes = 10'000'000;

struct ExportOptions {
  ScenarioOptions scenario;
  std::string to, launcher;
  std::vector<std::int64_t> ranks;  // of traces; empty: all
  OutputOptions output;
};

Launcher launcher_of(const std::string& name) {
  if (name == "torchrun") return Launcher::kTorchrun;
  return name == "slurm" ? Launcher::kSlurm : Launcher::kNone;
}

std::vector<std::int64_t> ranks_of(const ExportOptions& options, const Plan& plan) {
  std::vector<std::int64_t> ranks = options.ranks;
  if (ranks.empty()) {
    for (std::int64_t r = 0; r < plan.mesh.world_size(); ++r) ranks.push_back(r);
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::int64_t> ops;  // of a rank of each stage
  for (std::size_t s = 0; s < plan.programs.size(); ++s) ops.push_back(op_count(plan, s));
  std::int64_t nodes = 0;
  for (const std::int64_t r : ranks) {
    if (r >= plan.mesh.world_size()) {
      throw InputError(
          {.code = "G022",
           .problem = fmt::format("there is no rank {}", r),
           .where = {fmt::format("--ranks {}", r), 0, 0, ""},
           .expected = fmt::format("0 to {}", plan.mesh.world_size() - 1),
           .cure = "name ranks of the strategy, or leave --ranks out for all of them"});
    }
    nodes += ops[static_cast<std::size_t>(r / plan.places_per_stage())];
  }
  if (nodes > kMostNodes) {
    throw InputError(
        {.code = "G023",
         .problem = fmt::format("{} ranks are traces of {:.1e} nodes", ranks.size(),
                                static_cast<double>(nodes)),
         .expected = fmt::format("at most {:.0e} nodes", static_cast<double>(kMostNodes)),
         .cure = "name some ranks: --ranks 0,1"});
  }
  return ranks;
}

/// workload.0.et, workload.1.et, ... and workload.json, as ASTRA-sim takes them.
int export_traces(const Scenario& scenario, const ExportOptions& options) {
  const Plan plan = sound_plan(scenario);
  if (!plan.stage_tp.empty()) {
    throw locate(
        refusal("S054", "traces know no stages of different tensor-parallel degrees",
                "strategy.stage_tp", "one degree for all stages", "remove strategy.stage_tp"),
        scenario);
  }
  const std::vector<std::int64_t> ranks = ranks_of(options, plan);
  const std::filesystem::path folder = options.output.file;
  new_folder(folder.string());
  const std::string unsaid = "the machine; times of communication; optimizer steps beyond one";
  const CostModel costs = costs_of(scenario);
  ChakraTraces traces(plan, scenario.cluster, scenario.placement, costs,
                      {{"scenario", scenario.name},
                       {"scenario_sha256", sha256(scenario.canonical_json)},
                       {"plait", std::string(kVersion)},
                       {"not_represented", unsaid}});
  ProgressLine progress("writing");
  for (std::size_t done = 0; done < ranks.size(); ++done) {
    const std::int64_t rank = ranks[done];
    NewFile file(folder / fmt::format("workload.{}.et", rank));
    traces.write(rank, [&file](std::string_view part) { file.write(part); });
    file.finish();
    progress(done + 1, ranks.size(), "traces");
  }
  progress.finish();
  write_file(folder / "workload.json", traces.groups());
  print_result({}, fmt::format("{} Chakra traces, {}; communicators in {}\n"
                               "# not represented: {}\n",
                               ranks.size(), (folder / "workload.RANK.et").string(),
                               (folder / "workload.json").string(), unsaid));
  return kYes;
}

/// llama.cpp and Ollama reserve the cache of as many sequences as they are told of when they start:
/// the scenario with no more than have room.
Scenario with_room(Scenario scenario, const std::string& text, const ExportOptions& options) {
  const Dialect dialect = dialect_named(options.to);
  const bool reserves = dialect == Dialect::kLlamaCpp || dialect == Dialect::kOllama;
  if (!reserves || !scenario.serving || scenario.serving->limits.cache_tokens > 0) return scenario;
  const std::int64_t asked = scenario.serving->limits.max_sequences;
  const std::int64_t most = std::max<std::int64_t>(1, sequences_with_room(scenario));
  if (most >= asked) return scenario;
  std::vector<Override> overrides = options.scenario.overrides();
  overrides.push_back({"serving.engine.max_num_seqs", std::to_string(most)});
  Scenario out = parse_scenario(text, input_name(options.scenario.file), overrides);
  out.warnings.push_back(
      {"W011", fmt::format("the cache has room for {} sequences of {} tokens at a time, not for "
                           "serving.engine.max_num_seqs = {}: {} are exported",
                           most, scenario.serving->limits.max_context, asked, most)});
  return out;
}

int run_export(const ExportOptions& options) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const std::string text = read_text_file(options.scenario.file);
  Scenario scenario =
      parse_scenario(text, input_name(options.scenario.file), options.scenario.overrides());
  if (options.to != kChakra) scenario = with_room(std::move(scenario), text, options);
  const Launcher launcher = launcher_of(options.launcher);
  print_warnings(scenario.warnings);
  if (options.to == kChakra) return export_traces(scenario, options);
  if (!scenario.serving) planned_step(scenario);  // what run refuses is refused
  const Settings settings = settings_of(scenario, dialect_named(options.to), launcher);
  print_result(options.output, render(settings, launcher));
  return kYes;
}

}  // namespace

Dialect dialect_named(const std::string& name) {
  for (const DialectRow& row : dialects()) {
    if (row.name == name) return row.dialect;
  }
  PLAIT_CHECK(false, "the command line lets only known dialects pass");
}

std::vector<std::string> dialect_names(bool read) {
  std::vector<std::string> out;
  for (const DialectRow& row : dialects()) {
    if (read ? row.reads() : row.writes()) out.emplace_back(row.name);
  }
  return out;
}

std::vector<std::string> training_dialect_names() {
  std::vector<std::string> out;
  for (const DialectRow& row : dialects()) {
    if (row.writes() && row.trains) out.emplace_back(row.name);
  }
  return out;
}

void add_export(Command& command) {
  auto options = std::make_shared<ExportOptions>();
  Subcommand sub = command.program.subcommand(
      "export", "The scenario as settings of the program that runs it (docs/export.md)");
  add_scenario_options(sub, options->scenario);
  std::vector<std::string> targets = dialect_names(false);
  targets.emplace_back(kChakra);
  sub.option("--to", options->to, "Whose settings; chakra: execution traces of the plan")
      .one_of(targets)
      .takes("DIALECT")
      .required();
  sub.option("--launcher", options->launcher, "Write the script that starts it")
      .one_of({"torchrun", "slurm"})
      .takes("NAME");
  sub.option("--ranks", options->ranks, "chakra: only these (default: all)")
      .separated_by_commas()
      .not_negative();
  sub.option("-o,--output", options->output.file, "Write it to this file; chakra: into this folder")
      .writes_file();
  sub.runs([options] { return run_export(*options); },
           [options] {
             if (options->to == kChakra && options->output.file.empty()) {
               usage_error("--to chakra: -o FOLDER is required");
             }
           });
}

}  // namespace plait
