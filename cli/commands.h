#pragma once
// One function per subcommand: it declares the options, and what is done when its subcommand is the
// one on the command line.

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace plait {

inline constexpr int kYes = 0, kNo = 1, kUsage = 2, kEnvironment = 3, kInternal = 4;
/// What was asked for cannot be had on this machine, and nothing is wrong with that: tests skip.
inline constexpr int kSkipped = 77;

/// The command being put together. It outlives the parsing and what is then done.
struct Command {
  Subcommand program;
  std::string line;                // as typed, for reports to quote
  std::vector<std::string> words;  // the same, one by one, for launchers to start again
};

void add_run(Command& command);
void add_serve(Command& command);
void add_check(Command& command);
void add_compare(Command& command);
void add_whatif(Command& command);
void add_search(Command& command);
void add_profile(Command& command);
void add_validate(Command& command);
void add_plan(Command& command);
void add_realrun(Command& command);
void add_bench(Command& command);
void add_calibrate(Command& command);
void add_topology(Command& command);
void add_export(Command& command);
void add_import(Command& command);
void add_list(Command& command);
void add_schema(Command& command);
void add_explain(Command& command);
void add_completion(Command& command);
void add_man(Command& command);
void add_help(Command& command);
void add_version(Command& command);

}  // namespace plait
