#pragma once
// Which lists of words the commands of a script use: a list, NAME=(A B) or NAME="--a --b", that
// none uses is no part of them, such as that of a model which the script could train too.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/shell/shell_words.h"

namespace plait {

class ShellUses {
 public:
  using Names = std::set<std::string, std::less<>>;

  /// The list `of`, or where that is "" the command of that number, has the values of `names` in
  /// it.
  void add(const std::string& of, int command, const std::vector<std::string>& names);
  void add_all(const ShellUses& part);
  /// Without the words of lists that no command uses; all where none is used, as in a part of a
  /// script. Those that hold options are noted: W007. Words of lists get their commands.
  std::vector<ShellWord> used(std::vector<ShellWord> words, Warnings& notes) const;

 private:
  using Users = std::map<std::string, std::vector<int>, std::less<>>;
  Users users() const;

  std::map<std::string, Names, std::less<>> lists_;  // what each has
  std::map<int, Names> commands_;
};

}  // namespace plait
