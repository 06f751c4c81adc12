#pragma once
// What an input value looks like, apart from its C++ type: the description from which the JSON
// Schema, the reference page and the messages about unknown keys are made. Tables of fields
// (core/fields.h) produce shapes; nobody writes them by hand.

#include <string>
#include <utility>
#include <vector>

#include "core/json.h"

namespace plait {

struct Property;

struct Shape {
  std::string expectation;  // completes "expected: ", "an integer of at least 1"
  std::string schema;       // draft-07 object as JSON text; of an object, made from `properties`
  std::string name;         // objects: "strategy.pipeline"; "" otherwise
  std::string shorthand;    // objects: the property that a text alone stands for; "" if none
  std::vector<Property> properties;
  std::vector<Shape> element;  // lists: one entry
};

enum class Need : std::uint8_t { kRequired, kDefault, kDescribed };

struct Property {
  std::string key;
  std::string doc;
  Need need = Need::kDefault;
  std::string fallback;  // kDefault: JSON text; kDescribed: prose, "world size / (pp * fsdp * tp)"
  Shape shape;
  bool searchable = false;  // may be left open: "auto", a list of values, a range "1..8"
};

/// The draft-07 schema of a value, as compact JSON text.
std::string schema_of(const Shape& shape);
/// A whole schema document, many lines.
std::string schema_document(const Shape& shape, const std::string& title);
/// A Markdown section with a table of properties for each object below `shape`.
std::string reference_of(const Shape& shape);

/// Puts `text` at `path` of a document that has this shape. A text that stands for an object
/// becomes one first. `origin` is what messages call its place. Throws InputError F005 for a path
/// that the shape does not have.
void apply_override(JsonDocument& document, const Shape& shape, const std::string& path,
                    const std::string& text, const std::string& origin);

/// Dotted paths of the properties that may be left open, in the order of the tables.
std::vector<std::string> searchable_paths(const Shape& shape);

// Messages shared by all readers. Each throws InputError.
/// F001 for the first member that is not among `keys`.
void refuse_unknown_keys(const Json& object, const std::vector<std::string>& keys);
/// A required key, and what it should hold.
struct MissingKey {
  std::string key;
  std::string expectation;
};
/// F002, of all that are missing in one object.
[[noreturn]] void refuse_missing(const Json& object, const std::vector<MissingKey>& missing);
/// F003: wrong type.
[[noreturn]] void refuse_type(const Json& json, const std::string& expectation,
                              const std::string& cure = "");
/// U004: right type, value out of range.
[[noreturn]] void refuse_range(const Json& json, const std::string& expectation);
/// F004: not one of the names.
[[noreturn]] void refuse_choice(const Json& json, const std::vector<std::string>& names);

}  // namespace plait
