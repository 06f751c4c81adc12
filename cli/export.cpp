// plait export SCENARIO --to DIALECT: the scenario as settings that paste and run, and what these
// cannot say.

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/dialect_options.h"
#include "cli/options.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

struct ExportOptions {
  ScenarioOptions scenario;
  std::string to, launcher;
  OutputOptions output;
};

Launcher launcher_of(const std::string& name) {
  if (name == "torchrun") return Launcher::kTorchrun;
  return name == "slurm" ? Launcher::kSlurm : Launcher::kNone;
}

int run_export(const ExportOptions& options) {
  const Scenario scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  const Launcher launcher = launcher_of(options.launcher);
  print_warnings(scenario.warnings);
  const Settings settings = settings_of(scenario, dialect_named(options.to), launcher);
  print_result(options.output, render(settings, launcher));
  return kYes;
}

}  // namespace

Dialect dialect_named(const std::string& name) {
  for (const DialectRow& row : kDialects) {
    if (row.name == name) return row.dialect;
  }
  PLAIT_CHECK(false, "the command line lets only known dialects pass");
}

std::vector<std::string> dialect_names(bool read) {
  std::vector<std::string> out;
  for (const DialectRow& row : kDialects) {
    if (row.reads || !read) out.emplace_back(row.name);
  }
  return out;
}

void add_export(Command& command) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* sub = command.app.add_subcommand(
      "export", "The scenario as settings of the program that runs it (docs/export.md)");
  add_scenario_options(*sub, options->scenario);
  sub->add_option("--to", options->to, "Whose settings")
      ->check(CLI::IsMember(dialect_names(false)))
      ->type_name("DIALECT")
      ->required();
  sub->add_option("--launcher", options->launcher, "Write the script that starts it")
      ->check(CLI::IsMember({"torchrun", "slurm"}))
      ->type_name("NAME");
  sub->add_option("-o,--output", options->output.file, "Write it to this file")->type_name("FILE");
  sub->callback(
      [&command, options] { command.action = [options] { return run_export(*options); }; });
}

}  // namespace plait
