#pragma once
// Rows with a label and numbers in columns, for a terminal.

#include <string>
#include <vector>

#include "reports/terminal.h"

namespace plait {

struct TableColumn {
  std::string title;
  int width = 9;
  bool left = false;      // a word rather than a number
  bool optional = false;  // left out, the last one first, where the terminal is too narrow for all
};

/// A row of numbers, or of the reason why there are none.
struct TableRow {
  std::string label;
  std::vector<Span> cells;  // one per column
  std::string reason;       // where `cells` is empty
};

/// A column is as wide as it says, or as its longest cell needs, and where labels would have no
/// room no wider. A label that has none even so stands on a line of its own, above the numbers.
std::vector<Line> table_lines(const std::string& title, std::vector<TableColumn> columns,
                              std::vector<TableRow> rows, int width);

/// Whether each label of such a table, and the title above them, has room beside its numbers.
bool labels_have_room(const std::string& title, std::vector<TableColumn> columns,
                      std::vector<TableRow> rows, int width);

}  // namespace plait
