#pragma once
// A report as JSON. Keys are stable and documented in docs/output.md; numbers carry their unit in
// the key and print with as many digits as they need to read back the same.

#include <string>

#include "reports/report.h"

namespace plait {

/// Ends with a newline; two spaces of indentation.
std::string to_json(const Report& report);

/// The memory part alone, as `plait check` prints it.
std::string to_json(const MemoryReport& memory);

}  // namespace plait
