#pragma once
// On how many hosts a server's ranks are, where its command says so.

#include "scenarios/dialects/arguments.h"

namespace plait::vllm {

/// `out` has its axes. Throws InputError D004 where the ranks are not shared out evenly.
void read_hosts(Arguments& arguments, Imported& out);

}  // namespace plait::vllm
