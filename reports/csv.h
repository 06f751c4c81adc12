#pragma once
// Reports as CSV (RFC 4180): one row per report, the same columns always, units in the header.
// Lines end with CR LF, as the RFC has it.

#include <string>
#include <string_view>
#include <vector>

#include "reports/report.h"

namespace plait {

/// Quoted when it contains a comma, a quote or a line break.
std::string csv_field(std::string_view text);
std::string csv_row(const std::vector<std::string>& fields);

std::vector<std::string> csv_columns();
/// One value per column; as many digits as a double needs to read back the same.
std::vector<std::string> csv_values(const Report& report);

/// Header and one row.
std::string to_csv(const Report& report);

/// The memory of the fullest rank: item, bytes, source.
std::string to_csv(const MemoryReport& memory);

}  // namespace plait
