#pragma once
// The words of a shell script, as far as a launch script needs them: comments, quotes, lines that
// go on, arrays, variables that the script itself sets, and branches that its tests choose. Nothing
// is run.

#include <string>
#include <string_view>
#include <vector>

namespace plait {

struct ShellWord {
  std::string text;
  int line = 0;
  bool unknown = false;  // a variable or command in it that only a shell could fill in
  bool begins = false;   // behind the end of a command, an array or an assignment
};

/// An assignment NAME=(A B) or NAME="A B" gives the words A and B, where they stand. Throws
/// InputError D002 for a quote, an if or a case that is not closed. `warnings`, where given, gets
/// W008 for tests that only a run can tell and that choose options or variables.
std::vector<ShellWord> shell_words(std::string_view text, const std::string& file,
                                   std::vector<std::string>* warnings = nullptr);

}  // namespace plait
