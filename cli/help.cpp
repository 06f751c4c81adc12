// plait help [COMMAND...]: the same as --help behind the command.

#include <memory>

#include "cli/commands.h"
#include "cli/options.h"

namespace plait {

void add_help(Command& command) {
  auto words = std::make_shared<std::vector<std::string>>();
  Subcommand sub = command.program.subcommand("help", "Say what a command does, and its options");
  sub.option("command", *words, "The command (default: plait itself)").takes("COMMAND");
  sub.runs([program = command.program, words] {
    Subcommand at = program;
    for (const std::string& word : *words) at = at.find(word);
    print_result({}, at.help());
    return kYes;
  });
}

}  // namespace plait
