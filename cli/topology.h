#pragma once
// The parts of `plait topology`.

#include "cli/commands.h"

namespace plait {

void add_topology_import(Subcommand topology);

}  // namespace plait
