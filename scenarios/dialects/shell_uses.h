#pragma once
// Which lists of words the commands of a script use: a list, NAME=(A B) or NAME="--a --b", that
// none uses is no part of them, such as that of a model which the script could train too.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scenarios/dialects/shell_words.h"

namespace plait {

class ShellUses {
 public:
  /// The list `of`, or a command ("" ), has the values of `names` in it.
  void add(const std::string& of, const std::vector<std::string>& names);
  void add_all(const ShellUses& part);
  /// Without the words of lists that no command uses; all where none is used, as in a part of a
  /// script. Those that hold options are noted: "W007: ...".
  std::vector<ShellWord> used(std::vector<ShellWord> words, std::vector<std::string>& notes) const;

 private:
  std::set<std::string> reached() const;

  std::map<std::string, std::set<std::string>, std::less<>> names_;  // by what has them
};

}  // namespace plait
