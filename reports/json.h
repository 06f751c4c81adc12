#pragma once
// A report as JSON. Keys are stable and documented in docs/output.md; numbers carry their unit in
// the key and print with as many digits as they need to read back the same.

#include <optional>
#include <string>

#include "reports/report.h"

namespace plait {

/// Ends with a newline; two spaces of indentation.
std::string to_json(const Report& report);

/// The memory part alone, as `plait check` prints it.
std::string to_json(const MemoryReport& memory);

/// Reads what to_json wrote, as far as comparisons need it: names, rates, breakdown, memory totals.
/// Nothing when `text` is not a report (a scenario, say, or no JSON at all).
std::optional<Report> report_from_json(const std::string& text);

}  // namespace plait
