#pragma once
// Builds the values of a JsonDocument from text: the SAX events of nlohmann::json carry no
// positions, so a cursor follows them through the text and finds where each token begins. Private
// to json.cpp.

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace plait {

class JsonBuilder {
 public:
  enum class Positions : std::uint8_t { kCounted, kUnknown };

  JsonBuilder(JsonDocument& document, std::string_view text, const std::string* origin,
              Positions positions);

  bool parses() const;
  /// Fills `root` (and adds what lies below). Throws InputError.
  void build(Json* root);

  // The SAX interface of nlohmann::json.
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = std::vector<std::uint8_t>;
  bool null();
  bool boolean(bool value);
  bool number_integer(std::int64_t value);
  bool number_unsigned(std::uint64_t value);
  bool number_float(double value, const std::string& digits);
  bool string(std::string& value);
  bool start_object(std::size_t);
  bool key(std::string& key);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  /// `Binary` and `Exception` are the library's types, which the header need not know.
  template <class Binary>
  bool binary(Binary&) {
    return false;
  }
  template <class Exception>
  bool parse_error(std::size_t position, const std::string& last_token, const Exception& error) {
    return syntax_error(position, last_token, error.what());
  }

 private:
  Json* value();
  bool open(Json::Kind kind);
  bool close();
  void skip_separators();
  void skip_token();
  void step();
  Where here() const;
  Where place_of(std::size_t offset) const;
  [[noreturn]] void fail(const char* code, const std::string& problem, const Where& where,
                         const std::string& expected = "", const std::string& cure = "") const;
  bool syntax_error(std::size_t position, const std::string& last_token, std::string message);

  JsonDocument& document_;
  std::string_view text_;
  const std::string* origin_;
  Positions positions_;
  std::size_t cursor_ = 0;  // just behind the last token
  int line_ = 1, column_ = 1;
  std::size_t count_ = 0;
  std::vector<Json*> open_;
  std::string key_;
  int key_line_ = 0, key_column_ = 0;
  Json* root_ = nullptr;
};

}  // namespace plait
