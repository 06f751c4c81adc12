#pragma once
// One table of fields per struct says what its JSON looks like: key, member, rule, necessity, doc.
// The same table reads JSON into the struct with errors that name the place, writes it back in
// canonical form, and describes it (core/shape.h) for the schema and the reference page. Defaults
// are those of the default-constructed struct.
//
//   const Table<Wheel> wheel("wheel", {
//       field("radius", &Wheel::radius, Real{.min = 0}, "Outer radius, in metres.").required(),
//       field("spokes", &Wheel::spokes, Int{.min = 0}, "How many spokes."),
//   });
//   wheel.read(json, my_wheel);

#include <cmath>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/shape.h"
#include "core/units.h"

namespace plait {

// ---- Rules: how one value is read, written and described ----

struct Int {
  std::int64_t min = 1;
  std::int64_t max = std::int64_t{1} << 40;  // keeps products of a few sizes finite
  Shape shape() const;
  std::int64_t parse(const Json& json) const;

  template <std::integral V>
  void read(const Json& json, V& into) const {
    into = static_cast<V>(parse(json));
  }
  template <std::integral V>
  std::string write(V v) const {
    return std::to_string(v);
  }
};

struct Real {
  double min = -std::numeric_limits<double>::max();
  double max = std::numeric_limits<double>::max();
  Shape shape() const;
  void read(const Json& json, double& into) const;
  std::string write(double v) const { return json_number(v); }
};

struct Flag {
  Shape shape() const;
  void read(const Json& json, bool& into) const;
  std::string write(bool v) const { return json_bool(v); }
};

/// Any text, or one of `names` when there are some.
struct Text {
  std::vector<std::string> names = {};
  Shape shape() const;
  void read(const Json& json, std::string& into) const;
  std::string write(const std::string& v) const { return json_quote(v); }
};

template <class E>
struct Choice {
  std::vector<std::pair<std::string, E>> values;

  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, value] : values) out.push_back(name);
    return out;
  }
  Shape shape() const { return Text{names()}.shape(); }
  void read(const Json& json, E& into) const {
    std::string text;
    Text{names()}.read(json, text);
    for (const auto& [name, value] : values) {
      if (name == text) into = value;
    }
  }
  std::string write(const E& v) const {
    for (const auto& [name, value] : values) {
      if (value == v) return json_quote(name);
    }
    return "null";
  }
};

/// Those values, by their names.
template <class E>
Choice<E> choice_of(std::span<const E> values) {
  Choice<E> out;
  for (const E v : values) out.values.emplace_back(name_of(v), v);
  return out;
}
template <class E>
Choice<E> choice_of(std::initializer_list<E> values) {
  return choice_of(std::span<const E>(values.begin(), values.size()));
}

/// A quantity with its unit, as text: Amount<Bytes>{.min = Bytes(1)}.
struct AmountRange {
  double min, max;
  const UnitTable* table;
  Shape shape() const;
  const std::string& text_of(const Json& json) const;
  void check(const Json& json, double value) const;
};
template <class Q>
struct Amount {
  double min = 0;  // base units
  double max = std::numeric_limits<double>::max();

  AmountRange range() const { return {min, max, &unit_table<Q>()}; }
  Shape shape() const { return range().shape(); }
  void read(const Json& json, Q& into) const {
    const Q value = parse_quantity<Q>(range().text_of(json), json.where());
    range().check(json, static_cast<double>(value.value));
    into = value;
  }
  std::string write(const Q& v) const { return json_quote(exact_text(v)); }
};

/// A value alone or {"value": ..., "source": "where it comes from"}.
Shape sourced_shape(const Shape& value);
const Json& sourced_value(const Json& json);
template <class Rule>
struct Sourced {
  Rule rule;
  Shape shape() const { return sourced_shape(rule.shape()); }
  template <class V>
  void read(const Json& json, V& into) const {
    rule.read(sourced_value(json), into);
  }
  template <class V>
  std::string write(const V& v) const {
    return rule.write(v);
  }
};
template <class Rule>
Sourced(Rule) -> Sourced<Rule>;

/// A value that nothing stands for where it is not given: the field is silent by default.
template <class Rule>
struct IfGiven {
  Rule rule;
  Shape shape() const { return rule.shape(); }
  template <class V>
  void read(const Json& json, std::optional<V>& into) const {
    rule.read(json, into.emplace());
  }
  template <class V>
  std::string write(const std::optional<V>& v) const {
    return v ? rule.write(*v) : "null";
  }
};
template <class Rule>
IfGiven(Rule) -> IfGiven<Rule>;

Shape list_shape(const Shape& element);
template <class Rule>
struct List {
  Rule element;
  Shape shape() const { return list_shape(element.shape()); }
  template <class V>
  void read(const Json& json, std::vector<V>& into) const {
    if (!json.is(Json::Kind::kList)) refuse_type(json, shape().expectation);
    into.clear();
    for (const Json* child : json.children()) element.read(*child, into.emplace_back());
  }
  template <class V>
  std::string write(const std::vector<V>& values) const {
    std::vector<std::string> out;
    for (const V& v : values) out.push_back(element.write(v));
    return json_list(out);
  }
};
template <class Rule>
List(Rule) -> List<Rule>;

// ---- Fields and tables ----

template <class T>
struct Field {
  std::string key;
  std::string doc;
  Need need = Need::kDefault;
  std::string fallback = {};  // prose, for kDescribed
  std::function<void(const Json&, T&)> read;
  std::function<std::string(const T&)> write;
  std::function<Shape()> shape;
  bool may_be_open = false;
  bool silent = false;

  Field required() && { return need = Need::kRequired, std::move(*this); }
  /// The default follows from other fields, as this prose says.
  Field otherwise(std::string prose) && {
    need = Need::kDescribed;
    fallback = std::move(prose);
    return std::move(*this);
  }
  /// A file that is not run but searched may leave it open.
  Field searchable() && { return may_be_open = true, std::move(*this); }
  /// Not written where it has its default, so that what was written before there was such a field,
  /// and a hash of it, stays as it is.
  Field silent_by_default() && { return silent = true, std::move(*this); }
};

/// What deduces Field<T>: `access` is a member pointer or a callable T& -> V&.
template <class T, class Access, class Rule>
// NOLINTNEXTLINE(performance-unnecessary-value-param): key and doc are moved from
Field<T> field_of(std::string key, Access access, Rule rule, std::string doc) {
  Field<T> f;
  f.key = std::move(key);
  f.doc = std::move(doc);
  f.read = [access, rule](const Json& json, T& into) {
    rule.read(json, std::invoke(access, into));
  };
  f.write = [access, rule](const T& from) {
    T copy = from;  // `access` may be a callable that takes T&
    return rule.write(std::invoke(access, copy));
  };
  f.shape = [rule] { return rule.shape(); };
  return f;
}
template <class T, class V, class Rule>
Field<T> field(std::string key, V T::*member, Rule rule, std::string doc) {
  return field_of<T>(std::move(key), member, std::move(rule), std::move(doc));
}

/// Whether fields that are required may be absent because `into` already holds a base value.
enum class Base : std::uint8_t { kNone, kGiven };

template <class T>
class Table {
 public:
  /// `shorthand`: the key that a text alone stands for: "full" means {"kind": "full"}.
  Table(std::string name, std::vector<Field<T>> fields, std::string shorthand = "")
      : name_(std::move(name)), fields_(std::move(fields)), shorthand_(std::move(shorthand)) {}

  /// Also the fields of another struct that is a part of T, in the same JSON object.
  template <class U>
  Table& include(U T::*part, const Table<U>& other) {
    for (const Field<U>& f : other.fields()) {
      fields_.push_back({f.key, f.doc, f.need, f.fallback,
                         [part, read = f.read](const Json& j, T& into) { read(j, into.*part); },
                         [part, write = f.write](const T& from) { return write(from.*part); },
                         f.shape, f.may_be_open, f.silent});
    }
    return *this;
  }

  /// Reads the members that are there over what `into` holds. Throws InputError with the place.
  void read(const Json& json, T& into, Base base = Base::kNone) const {
    if (json.is(Json::Kind::kText) && !shorthand_.empty()) return find(shorthand_).read(json, into);
    if (!json.is(Json::Kind::kObject)) refuse_type(json, expectation());
    refuse_unknown_keys(json, keys());
    std::vector<MissingKey> missing;
    for (const Field<T>& f : fields_) {
      if (const Json* member = json.find(f.key)) {
        f.read(*member, into);
      } else if (f.need == Need::kRequired && base == Base::kNone) {
        missing.push_back({f.key, f.shape().expectation});
      }
    }
    if (!missing.empty()) refuse_missing(json, missing);
  }

  /// Every field but silent ones that have their defaults.
  std::vector<JsonMember> members(const T& from) const {
    std::vector<JsonMember> out;
    for (const Field<T>& f : fields_) {
      std::string text = f.write(from);
      if (f.silent && text == f.write(T{})) continue;
      out.push_back({f.key, std::move(text)});
    }
    return out;
  }
  /// These, keys sorted, as compact JSON text.
  std::string write(const T& from) const { return json_object(members(from)); }

  Shape shape() const {
    Shape out{.expectation = expectation(),
              .schema = "",
              .name = name_,
              .shorthand = shorthand_,
              .properties = {},
              .element = {}};
    const T initial{};
    for (const Field<T>& f : fields_) {
      const std::string fallback = f.need == Need::kDefault ? f.write(initial) : f.fallback;
      out.properties.push_back({f.key, f.doc, f.need, fallback, f.shape(), f.may_be_open});
    }
    return out;
  }

  const std::vector<Field<T>>& fields() const { return fields_; }
  std::vector<std::string> keys() const {
    std::vector<std::string> out;
    for (const Field<T>& f : fields_) out.push_back(f.key);
    return out;
  }

 private:
  std::string expectation() const {
    return shorthand_.empty() ? "an object"
                              : "an object, or a text that stands for its " + shorthand_;
  }
  const Field<T>& find(const std::string& key) const {
    for (const Field<T>& f : fields_) {
      if (f.key == key) return f;
    }
    fail_check("key", __FILE__, __LINE__, "table " + name_ + " has no field " + key);
  }

  std::string name_;
  std::vector<Field<T>> fields_;
  std::string shorthand_;
};

/// A struct inside a struct. Fields that are absent keep the value that was there.
template <class T>
struct Nested {
  const Table<T>* table;
  Shape shape() const { return table->shape(); }
  void read(const Json& json, T& into) const { table->read(json, into); }
  std::string write(const T& v) const { return table->write(v); }
};
template <class T>
Nested(const Table<T>*) -> Nested<T>;

}  // namespace plait
