#pragma once
// The words of a shell script, as far as a launch script needs them: comments, quotes, lines that
// go on, arrays, variables that the script itself sets, and branches that its tests choose. Nothing
// is run. Files of settings that it writes (shell/here_documents.h) are no part of it.

#include <string>
#include <string_view>
#include <vector>

#include "core/warning.h"

namespace plait {

struct ShellWord {
  std::string text;
  int line = 0;
  bool unknown = false;  // a variable or command in it that only a shell could fill in
  bool begins = false;   // behind the end of a command, an array or an assignment
  std::string of = {};   // the list that it stands in; "": a command
  /// A word of a command that runs a program with options, and all of it is what only a shell could
  /// fill in: $MORE_OPTIONS, ${OPTIONS[@]}, $(cat options).
  bool nothing = false;
  /// Commands of the script that have it, counted from 1: its own, or those that use its list.
  /// None: no command uses a list.
  std::vector<int> commands = {};
};

/// An assignment NAME=(A B) or NAME="A B" gives the words A and B, where they stand, unless the
/// script's commands use other lists and not this one. Throws InputError D002 for a quote, an if or
/// a case that is not closed. `warnings`, where given, gets W008 for tests that only a run can tell
/// and that choose options or variables, and W007 for scripts that it sources and lists that no
/// command uses.
std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   Warnings* warnings = nullptr);

}  // namespace plait
