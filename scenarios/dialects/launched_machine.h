#pragma once
// The machine that a script starts a training on.

#include <string>
#include <vector>

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

/// Nodes and devices of each, as far as the script says; `text` is all of it, `words` those of the
/// command. Throws InputError D003 for what is no number, D006 for numbers that a run chooses.
void read_machine(Arguments& arguments, const std::vector<ShellWord>& words,
                  const std::string& text, Imported& out);

}  // namespace plait
