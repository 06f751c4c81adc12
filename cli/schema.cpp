// plait schema: the JSON Schema of scenario files, for editors and validators.

#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "scenarios/scenario.h"

namespace plait {

void add_schema(Command& command) {
  auto file = std::make_shared<OutputOptions>();
  CLI::App* sub =
      command.app.add_subcommand("schema", "Print the JSON Schema (draft-07) of scenario files");
  sub->add_option("-o,--output", file->file, "Write it to this file")->type_name("FILE");
  sub->callback([&command, file] {
    command.action = [file] {
      std::string text = scenario_schema();
      if (!text.ends_with('\n')) text += '\n';
      print_result(*file, text);
      return kYes;
    };
  });
}

}  // namespace plait
