#pragma once
// What loops of a shell script go over, as far as the script says: {1..4}, $(seq 4), and
// ((i = 0; i < 4; i++)).

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/dialects/shell/shell_variables.h"

namespace plait {

/// What {1,2,4} and {1..4} stand for in a command; any other word is itself.
std::vector<std::string> expanded_braces(const std::string& word);

/// What `seq 2 2 8` prints; nothing for any other command, and where only a run knows its numbers.
std::vector<std::string> sequence_of(std::string_view command, const ShellVariables& variables);

/// Reads "(i = 0; i < 4; i++)" of `for ((i = 0; i < 4; i++))`: its variable has the first of these
/// values, or none where only a run knows them.
void take_counting_loop(std::string_view text, int line, ShellVariables& variables);

}  // namespace plait
