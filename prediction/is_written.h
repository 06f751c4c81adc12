#pragma once
// Whether the scenario's own text says something, or a default does.

#include <string>

#include "core/json.h"
#include "scenarios/scenario.h"

namespace plait {

/// `path`: of a field, "serving.engine.max_model_len". False of a scenario without a text.
inline bool is_written(const Scenario& scenario, const std::string& path) {
  return scenario.source != nullptr && scenario.source->root().find_path(path) != nullptr;
}

}  // namespace plait
