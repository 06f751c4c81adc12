#pragma once
// The whole training in a report: days, and what of them failures and checkpoints take.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// What one failure and one checkpoint cost, and where the days go.
std::vector<Line> training_lines(const TrainingReport& training, int width);

nlohmann::ordered_json json_tree(const TrainingReport& training);

}  // namespace plait
