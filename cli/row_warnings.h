#pragma once
// What is to be known of the rows of a comparison: each warning once, and of which rows.

#include <string>
#include <vector>

#include "core/warning.h"

namespace plait {

/// Of a row that was predicted.
struct RowWarnings {
  std::string label;
  Warnings warnings;
};

/// In the order in which they come first; "W001: ... [tp=1, tp=2 and 4 more]", or without labels
/// where all rows have it.
Warnings warnings_of_rows(const std::vector<RowWarnings>& rows);

}  // namespace plait
