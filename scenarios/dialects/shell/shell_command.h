#pragma once
// The command of a script in which its reader stands: which it is, and what its first word says of
// the others.

#include <initializer_list>
#include <span>
#include <string_view>

#include "scenarios/dialects/shell/shell_variables.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> texts);

inline constexpr std::string_view kCommand = "$(...)";  // what one prints

/// $NAME or $(command), and nothing beside it.
bool stands_alone(const ShellWord& word);

/// A command without options misses none.
void pass_over_nothing(std::span<ShellWord> command);

/// set -- A B: $1 and $2 are these.
void set_parameters(std::span<const ShellWord> command, ShellVariables& variables);

/// What follows these words of a command is a script that a shell runs: bash -c "...".
bool is_script(std::span<const ShellWord> command);

/// "--option", "-tp", "-c".
bool is_option_word(std::string_view word);
/// "2", of 2>&1; `next` follows it.
bool is_descriptor(std::string_view word, char next);

struct ShellCommand {
  int number = 0;         // of the script's, counted from 1
  bool named = false;     // it has a name
  bool lost = false;      // it has none: no shell runs it
  bool sources = false;   // its next word is a script
  bool prepares = false;  // files or the environment: its options are of no program
  bool declares = false;  // its words are assignments, whatever is before them

  /// The next one, whose first word that is. `broken`: the one before ended though its line
  /// seems to go on. Options alone are of the command before, as in a part of
  /// a script; `of_options`: all of the text is such.
  void begin(const ShellWord& word, bool broken, bool of_options);
};

}  // namespace plait
