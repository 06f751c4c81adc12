#pragma once
// A report that was written as JSON, read back: every key of docs/output.md, so that it is put out
// again as it was (reports/json.h). Keys that it lacks, as those of an older version, stay as they
// are in an empty report.

#include <optional>
#include <string>

#include "reports/report.h"

namespace plait {

/// Nothing when `text` is not a report (a scenario, say, what a real run measured, or no JSON at
/// all): reports have a step's time, its breakdown and the number of ranks.
std::optional<Report> report_from_json(const std::string& text);

}  // namespace plait
