// plait import FILE: the settings of another program as a scenario.

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/dialect_options.h"
#include "cli/options.h"
#include "core/file.h"
#include "core/json.h"
#include "scenarios/dialects/dialects.h"

namespace plait {
namespace {

struct DialectOptions {
  std::string file, from, base;
  OutputOptions output;
};

int run_import(const DialectOptions& options) {
  const std::string file = input_name(options.file);
  const std::string text = read_text_file(options.file);
  const Dialect dialect =
      options.from.empty() ? detect_dialect(text, file) : dialect_named(options.from);
  const Imported imported = read_settings(text, file, dialect);
  BaseScenario base;
  if (options.base.starts_with('{')) {
    base = {options.base, "--base"};
  } else if (!options.base.empty()) {
    base = {read_text_file(options.base), options.base};
  }
  const std::string folder = std::filesystem::path(options.output.file).parent_path().string();
  print_warnings(imported.warnings);  // in front of an error, which may be due to what is not read
  Warnings warnings;
  const std::string json = scenario_json(imported, file, base, folder, &warnings);
  print_warnings(warnings);
  print_result(options.output, json);
  return kYes;
}

}  // namespace

void add_import(Command& command) {
  auto options = std::make_shared<DialectOptions>();
  Subcommand sub = command.program.subcommand(
      "import", "The settings of another program as a scenario (docs/export.md)");
  sub.option("file", options->file, "Its settings; - reads standard input")
      .takes("FILE")
      .required();
  sub.option("--from", options->from, "Whose settings (default: by content)")
      .one_of(dialect_names(true))
      .takes("DIALECT");
  sub.option("--base", options->base,
             "A scenario, or parts of one, that says what the file does not: a file, or its JSON")
      .takes("SCENARIO");
  sub.option("-o,--output", options->output.file, "Write the scenario to this file").writes_file();
  sub.runs([options] { return run_import(*options); });
}

}  // namespace plait
