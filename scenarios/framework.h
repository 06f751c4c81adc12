#pragma once
// What a training framework does where a scenario does not say otherwise: overlap, buckets, element
// types, kernels; and what a search may choose among. A profile is data
// (topologies/catalogue/frameworks/*.json): defaults of scenario fields and values that it has,
// each with its source. Named by the field `framework`; what the scenario says itself wins.

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/warning.h"

namespace plait {

struct FrameworkDefault {
  std::string path;             // of a scenario field
  std::string value;            // JSON text
  std::string source;           // why the framework does so
  std::string value_with_fp16;  // JSON text: where weights are fp16; empty: `value` there too
  /// Sizes of which one has to be above 1 for it; none: always. Of a search each layout decides.
  std::vector<std::string> where_split;
  /// Fields beside any of which it does not hold: adapters have other optimizers.
  std::vector<std::string> where_absent;
};

/// All that the framework has of a field that a search may choose.
struct FrameworkOffer {
  std::string path;                 // of a scenario field
  std::vector<std::string> values;  // as --set takes them
  bool of_mixtures = false;         // of models with experts alone
  std::string source;
};

/// Another program, which settings give away.
struct FrameworkInstead {
  /// A field whose value is one of these texts; "null": not said.
  struct Said {
    std::string path;
    std::vector<std::string> values;
  };
  std::string profile;      // of that program
  std::vector<Said> where;  // all of them
  std::string source;
};

struct Framework {
  std::string name, title;
  std::vector<FrameworkInstead> instead;  // the first that is given away
  std::vector<FrameworkOffer> offers;     // of fields that are not here it has all
  std::vector<FrameworkDefault> defaults;
};

/// All profiles, by name.
const std::vector<Framework>& frameworks();
std::vector<std::string> framework_names();
/// nullptr where none is called `name`.
const Framework* find_framework(std::string_view name);

/// The framework that `document` names or, where a setting is another program's, that one; nullptr:
/// none, or what is refused later.
const Framework* framework_at_work(const JsonDocument& document);

/// Puts what the framework does that `document` names where it does not say itself, and returns the
/// paths of what it put there. Where a setting is another program's, `document` names that one from
/// then on, and `warnings` has W025.
std::vector<std::string> fill_in_framework(JsonDocument& document, Warnings& warnings);

/// Sizes of which one above 1 makes the framework's default of `path` hold, where `document` does
/// not say the field itself; empty: no sizes decide.
std::vector<std::string> deciding_sizes(const JsonDocument& document, const std::string& path);

}  // namespace plait
