#pragma once
// Records as JSON Lines.

#include <string>

#include "core/json.h"

namespace plait {

/// A JSON document, or where each line is an object of its own, the list of these. Places are those
/// of the lines.
JsonDocument parse_records(const std::string& text, const std::string& file);

}  // namespace plait
