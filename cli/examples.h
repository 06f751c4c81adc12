#pragma once
// What --help shows below the options: commands that run as they stand in a checkout.

#include "cli/command_line.h"

namespace plait {

/// Gives the program and its subcommands their examples.
void add_examples(Subcommand program);

}  // namespace plait
