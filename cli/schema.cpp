// plait schema: the JSON Schema of scenario files and of results, for editors and validators.

#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "core/embedded_file.h"
#include "scenarios/scenario.h"

namespace plait {

std::vector<EmbeddedFile> result_schemas();  // reports/schemas/*.json

namespace {

/// "scenario", then the results: the names of their files.
std::vector<std::string> schema_names() {
  std::vector<std::string> out = {"scenario"};
  for (const EmbeddedFile& file : result_schemas()) {
    out.emplace_back(file.path.substr(0, file.path.find('.')));
  }
  return out;
}

std::string schema_of(const std::string& name) {
  for (const EmbeddedFile& file : result_schemas()) {
    if (file.path == name + ".json") return std::string(file.text);
  }
  return scenario_schema();
}

}  // namespace

void add_schema(Command& command) {
  auto file = std::make_shared<OutputOptions>();
  auto of = std::make_shared<std::string>("scenario");
  Subcommand sub = command.program.subcommand(
      "schema", "Print the JSON Schema (draft-07) of scenario files, or of a result");
  sub.option("of", *of, "scenario, or the command whose JSON it describes")
      .one_of(schema_names())
      .shows_default();
  sub.option("-o,--output", file->file, "Write it to this file").writes_file();
  sub.runs([file, of] {
    std::string text = schema_of(*of);
    if (!text.ends_with('\n')) text += '\n';
    print_result(*file, text);
    return kYes;
  });
}

}  // namespace plait
