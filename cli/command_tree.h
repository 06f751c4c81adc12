#pragma once
// The command line as data, read off the parser's own tree: what completion and the manual page are
// written from.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace plait {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; a positional has its one name without dashes
  std::string value;               // "FILE", "{text,json,csv}"; empty for a flag
  std::vector<std::string> choices;  // where only these are allowed
  std::string says;
  bool positional = false;
};

struct CommandText {
  std::string name;  // "run", "topology show"
  std::string says;
  std::vector<OptionText> options;  // in the order of --help
  std::string footer;               // examples
};

/// The program itself (without name) and all its subcommands, in the order of --help.
std::vector<CommandText> command_tree(const Subcommand& program);

}  // namespace plait
