#pragma once
// What is read of a script.

#include <string>
#include <vector>

#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

/// Its words, each behind a space, and what is said of it, each behind a bar.
inline std::string script_words(const std::string& script) {
  Warnings warnings;
  std::string out;
  for (const ShellWord& w : shell_words(script, "run.sh", &warnings)) out += " " + w.text;
  for (const Warning& w : warnings) out += "|" + printed(w);
  return out;
}

}  // namespace plait
