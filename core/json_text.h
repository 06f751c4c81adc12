#pragma once
// A value that was read, as JSON text again: in one line, without where it stood.

#include <string>

#include "core/json.h"

namespace plait {

std::string json_text(const Json& json);

}  // namespace plait
