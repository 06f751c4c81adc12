#pragma once
// The command of a script in which its reader stands: which it is, and what its first word says of
// the others.

#include <string>

#include "scenarios/dialects/shell_words.h"

namespace plait {

struct ShellCommand {
  int number = 0;         // of the script's, counted from 1
  bool named = false;     // it has a name
  bool lost = false;      // it has none: no shell runs it
  bool sources = false;   // its next word is a script
  bool declares = false;  // its words are assignments, whatever is before them

  /// The next one, whose first word that is. `broken`: the one before ended though its line
  /// seems to go on. Options alone are of the command before, as in a part of
  /// a script; `of_options`: all of the text is such.
  void begin(const ShellWord& word, bool broken, bool of_options);
};

}  // namespace plait
