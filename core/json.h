#pragma once
// JSON whose every value knows where it stands. A document owns its values; readers see them as
// `const Json&`, with line, column and dotted path, so that an error can point at its cause. The
// grammar is RFC 8259 plus `//` and `/* */` comments; duplicate keys, numbers that overflow,
// invalid UTF-8, absurd depth and absurd size are errors.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/error.h"

namespace plait {

/// One value of a document: null, bool, integer, number, text, list or object. Its address is
/// stable while the document lives.
class Json {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kInteger, kNumber, kText, kList, kObject };

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  // Each of these needs the kind it names (InternalError otherwise); number() takes integers too.
  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  const std::string& text() const;

  /// Elements of a list or members of an object, in the order of the file; else empty.
  const std::vector<Json*>& children() const { return children_; }
  /// The member `key` of an object, or nullptr.
  const Json* find(std::string_view key) const;
  /// The value at a dotted path from here, or nullptr.
  const Json* find_path(std::string_view path) const;
  /// The same, or the innermost one around it.
  const Json& innermost(std::string_view path) const;
  /// Name of this member in its object; "" for list elements and the root.
  const std::string& key() const { return key_; }

  /// "strategy.tp", "cluster.slowdowns.0.factor"; "" for the root.
  std::string path() const;
  Where where() const;
  /// The place of this member's key.
  Where key_where() const;
  /// What stands here, short enough for a message: `the text "4"`, `a list`.
  std::string describe() const;

 private:
  friend class JsonDocument;
  friend class JsonBuilder;

  Kind kind_ = Kind::kNull;
  int line_ = 0;
  int column_ = 0;
  int key_line_ = 0;
  int key_column_ = 0;
  const Json* parent_ = nullptr;
  const std::string* origin_ = nullptr;  // file name, "--set strategy.tp=4" or who else said it
  std::string key_;
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value_;
  std::vector<Json*> children_;
};

class JsonDocument {
 public:
  static constexpr std::size_t kMaxDepth = 100;
  static constexpr std::size_t kMaxValues = 1'000'000;

  JsonDocument(JsonDocument&&) = default;
  JsonDocument& operator=(JsonDocument&&) = default;
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  const Json& root() const { return *root_; }

  /// Puts a value at `path` (keys, or indices in lists), adding objects on the way. `text` counts
  /// as JSON when it parses and as plain text otherwise; `origin` is its place in messages. Throws
  /// InputError J00x for what begins as an object or a list and is none.
  void set(const std::vector<std::string>& path, const std::string& text,
           const std::string& origin);
  /// Takes the value at `path` away, which is there.
  void remove(const std::vector<std::string>& path);
  /// Turns the value at `path` into {key: value}.
  void wrap(const std::vector<std::string>& path, const std::string& key);

 private:
  friend class JsonBuilder;
  friend JsonDocument parse_json(std::string_view text, const std::string& file);
  JsonDocument() = default;
  Json* add(const Json* parent);
  Json* member(Json* object, const std::string& key, const std::string* origin);
  Json* at(const std::vector<std::string>& path);

  std::deque<Json> values_;  // a deque keeps addresses
  std::deque<std::string> origins_;
  Json* root_ = nullptr;
};

/// "strategy.tp" as {"strategy", "tp"}.
std::vector<std::string> split_path(std::string_view path);

/// Throws InputError J004 to J011 with line and column. `file` is what messages call the text.
JsonDocument parse_json(std::string_view text, const std::string& file);

/// Without the mark of UTF-8 that some editors put first.
std::string_view without_mark(std::string_view text);

/// parse_json of a file.
JsonDocument read_json_file(const std::string& path);

// Writing: pieces of compact JSON text.
std::string json_quote(std::string_view text);
/// Shortest digits that read back as the same double.
std::string json_number(double value);
std::string json_bool(bool value);
struct JsonMember {
  std::string key;
  std::string value;  // JSON text
};
/// `sorted`: members by key, for canonical output.
std::string json_object(std::vector<JsonMember> members, bool sorted = true);
std::string json_list(const std::vector<std::string>& values);
/// The same JSON on many lines, two spaces per level, order kept. Ends without a newline.
std::string json_pretty(const std::string& compact);

}  // namespace plait
