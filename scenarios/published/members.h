#pragma once
// Which members the records of published runs have, and which of a record's nobody reads.

#include <string>
#include <vector>

#include "core/json.h"

namespace plait {

/// A member of a record's `model` that is a field of a scenario's by the same name: head_dim.
struct ModelField {
  std::string name, value;  // JSON text
};

/// Those of `model` that records have no reading of their own for.
std::vector<ModelField> fields_of_scenario(const Json& model);

/// Members that are not read, in order, with their part and what they may have been meant for:
/// `parallel.zero (did you mean "zero_stage"?)`. Those that tell people where a record is from, and
/// amounts that were measured beside those that are read, are none of them.
std::vector<std::string> unread_members(const Json& record);

}  // namespace plait
