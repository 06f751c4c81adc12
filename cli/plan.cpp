// plait plan SCENARIO: what every rank does, with no hardware and no time in it.

#include "plan/plan.h"

#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/error.h"
#include "plan/print.h"
#include "prediction/prediction.h"

namespace plait {
namespace {

struct PlanCommandOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  PrintOptions print;
};

int print_plan(const PlanCommandOptions& options) {
  if (print_help_for_sets(options.scenario, options.output)) return kYes;
  const Scenario scenario = load_scenario(options.scenario.file, options.scenario.overrides());
  print_warnings(scenario.warnings);
  const Plan plan = sound_plan(scenario);
  const auto stages = static_cast<std::int64_t>(plan.programs.size());
  if (options.print.stage >= stages) {
    throw InputError({.code = "G007",
                      .problem = "no stage " + std::to_string(options.print.stage),
                      .where = {"--stage " + std::to_string(options.print.stage), 0, 0, ""},
                      .expected = "0 to " + std::to_string(stages - 1),
                      .cure = "choose one of these, or leave --stage out for all of them"});
  }
  std::ostringstream text;
  print(text, plan, options.print);
  print_result(options.output, text.str());
  return kYes;
}

}  // namespace

void add_plan(Command& command) {
  auto options = std::make_shared<PlanCommandOptions>();
  Subcommand sub = command.program.subcommand("plan", "Print what every rank does in one step");
  add_scenario_options(sub, options->scenario);
  sub.option("--stage", options->print.stage, "Only this pipeline stage").not_negative();
  sub.flag("--ops", options->print.ops,
           "Also the ops of each block, whenever it is called: long; --stage shows one stage");
  sub.option("-o,--output", options->output.file, "Write it to this file").writes_file();
  sub.runs([options] { return print_plan(*options); });
}

}  // namespace plait
