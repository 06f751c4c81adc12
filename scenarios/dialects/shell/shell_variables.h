#pragma once
// The variables of a script that it sets itself. The words of a list, NAME=(A B) or NAME="--a --b",
// stand where it is set; a loop over several words is read once, with the first.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/warning.h"

namespace plait {

/// NAME= or NAME+=, up to where its "=" stands.
bool is_assignment(std::string_view text, std::size_t equals);

class ShellVariables {
 public:
  void set(const std::string& name, std::string value);
  void make_list(const std::string& name) { lists_.insert(name); }
  /// One more word of a list.
  void add_word(const std::string& list, std::string word) {
    words_[list].push_back(std::move(word));
  }
  /// for NAME in VALUES, of which there is one at least.
  void loop(const std::string& name, std::vector<std::string> values, int line);
  void forget(const std::string& name) { values_.erase(name); }

  bool has_list(std::string_view name) const { return lists_.contains(name); }
  /// Nothing where it is not known.
  const std::string* value(std::string_view name) const;
  /// Of a list.
  std::vector<std::string> words(std::string_view name) const;
  /// Of an arithmetic expression.
  std::optional<std::int64_t> number(std::string_view expression) const;
  /// How the loop over the variable is read, W008, the first time that it is asked for.
  std::optional<Warning> take_note(std::string_view name);
  /// Of all variables of an arithmetic expression.
  Warnings take_notes(std::string_view expression);

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> lists_;
  std::map<std::string, std::vector<std::string>, std::less<>> words_;  // of lists
  std::map<std::string, Warning, std::less<>> notes_;                   // of loops
};

}  // namespace plait
