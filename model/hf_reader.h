#pragma once
// Reads keys of a Hugging Face config.json and keeps the books: which keys were used, and which
// defaults stood in for missing ones. A configuration of a multi-modal model keeps the language
// model in `text_config`; its keys are looked up there first and at the top second.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace plait {

/// Refuses what cannot be planned: InputError M004 pointing at `key`.
[[noreturn]] void refuse_config(const Json& key, const std::string& what);

class HfReader {
 public:
  /// The spellings of one key, the preferred one first.
  using Names = std::initializer_list<std::string_view>;

  /// Keeps references into the document. Throws InputError M001 unless `root` is an object.
  explicit HfReader(const Json& root);

  /// This key, wherever it stands, without counting it as used. Else nullptr.
  const Json* peek(std::string_view name) const;
  /// Reads what stands in the object of this name, which counts as used, or in an empty one. What
  /// it assumes is not noted here. Throws InputError M001 for any other value.
  HfReader inside(std::string_view name);
  /// The first of these keys that is present, null or not; it counts as used. Else nullptr.
  const Json* take(Names names);

  /// A count of at least one. A missing key or null takes `fallback`, which is noted as assumed.
  /// Throws InputError M005 for any other value, or one above `limit`.
  std::int64_t size(Names names, std::int64_t limit, std::int64_t fallback);
  /// The same, of which there may be none.
  std::int64_t count(Names names, std::int64_t limit, std::int64_t fallback);
  bool flag(Names names, bool fallback);
  /// A probability in [0, 1).
  double probability(Names names, double fallback);
  /// A part of a whole, above 0; 1 is all of it.
  double fraction(Names names, double fallback);
  std::string word(Names names, std::string_view fallback);

  /// Notes a value that the file does not state.
  void assume(std::string_view name, const std::string& value);

  Where where() const { return root_.where(); }
  /// Dotted paths of the keys that nobody took, but for nulls, in the order of the file.
  std::vector<std::string> unused() const;
  const std::vector<std::string>& assumed() const { return assumed_; }

 private:
  std::int64_t integer(Names names, std::int64_t least, std::int64_t limit, std::int64_t fallback);
  const Json* value_of(Names names, const std::string& fallback);

  const Json& root_;
  std::vector<const Json*> scopes_;  // text_config, when there is one; the root
  std::vector<const Json*> used_;
  std::vector<std::string> assumed_;
};

/// The index of `word` in `names`. Throws InputError M007, naming them all.
std::size_t find_word(const std::vector<std::string>& names, const std::string& word,
                      std::string_view key, const Where& where);

/// The row of `table` whose name is `word`, as find_word.
template <class Table>
const auto& look_up(const Table& table, const std::string& word, std::string_view key,
                    const Where& where) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return table[find_word(names, word, key, where)];
}

}  // namespace plait
