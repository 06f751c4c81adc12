#pragma once
// The tree behind to_json, for documents that contain reports.

#include <nlohmann/json.hpp>
#include <string>

#include "reports/report.h"

namespace plait {

nlohmann::ordered_json json_tree(const Report& report);
/// Indented by two spaces, a newline at the end, invalid UTF-8 replaced.
std::string json_text(const nlohmann::ordered_json& tree);

}  // namespace plait
