// plait import FILE: the settings of another program as a scenario.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/dialect_options.h"
#include "cli/options.h"
#include "core/json.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

struct ImportOptions {
  std::string file, from, base;
  OutputOptions output;
};

int run_import(const ImportOptions& options) {
  const std::string file = options.file == "-" ? "<stdin>" : options.file;
  const std::string text = read_text_file(options.file);
  const Dialect dialect =
      options.from.empty() ? detect_dialect(text, file) : dialect_named(options.from);
  const Imported imported = read_settings(text, file, dialect);
  BaseScenario base;
  if (!options.base.empty()) base = {read_text_file(options.base), options.base};
  const std::string folder = std::filesystem::path(options.output.file).parent_path().string();
  const std::string json = scenario_json(imported, file, base, folder);
  print_warnings(imported.warnings);
  print_result(options.output, json);
  return kYes;
}

}  // namespace

void add_import(Command& command) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* sub = command.app.add_subcommand(
      "import", "The settings of another program as a scenario (docs/export.md)");
  sub->add_option("file", options->file, "Its settings; - reads standard input")
      ->type_name("FILE")
      ->required();
  sub->add_option("--from", options->from, "Whose settings (default: by content)")
      ->check(CLI::IsMember(dialect_names(true)))
      ->type_name("DIALECT");
  sub->add_option("--base", options->base, "A scenario that says what the file does not")
      ->type_name("SCENARIO");
  sub->add_option("-o,--output", options->output.file, "Write the scenario to this file")
      ->type_name("FILE");
  sub->callback(
      [&command, options] { command.action = [options] { return run_import(*options); }; });
}

}  // namespace plait
