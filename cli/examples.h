#pragma once
// What --help shows below the options: commands that run as they stand in a checkout.

#include <CLI/CLI.hpp>

namespace plait {

/// Gives the program and its subcommands their examples.
void add_examples(CLI::App& app);

}  // namespace plait
