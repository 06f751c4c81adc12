#include "reports/table.h"

#include <algorithm>

namespace plait {
namespace {

constexpr int kMinLabel = 12;

int label_width(const std::string& title, const std::vector<TableColumn>& columns,
                const std::vector<TableRow>& rows, int total) {
  int taken = 2;
  for (const TableColumn& c : columns) taken += c.width;
  int longest = std::max(kMinLabel, display_width(title));
  for (const TableRow& r : rows) longest = std::max(longest, display_width(r.label));
  return std::clamp(total - taken, kMinLabel, longest);
}

std::string padded(const std::string& text, const TableColumn& column) {
  return column.left ? "  " + pad_right(text, column.width - 2) : pad_left(text, column.width);
}

void add_row(const TableRow& row, const std::vector<TableColumn>& columns, int width, int total,
             std::vector<Line>& out) {
  std::string label = row.label;
  if (display_width(label) > width) {
    out.push_back({{label}});
    label.clear();
  }
  label = pad_right(label, width);
  if (!row.cells.empty()) {
    Line line = {{label}};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line.push_back({padded(row.cells[i].text, columns[i]), row.cells[i].ink});
    }
    out.push_back(std::move(line));
    return;
  }
  for (std::string& part : wrap(row.reason, std::max(20, total - width - 2))) {
    out.push_back({{label + "  "}, {std::move(part), Ink::kDim}});
    label = std::string(static_cast<std::size_t>(width), ' ');
  }
}

}  // namespace

std::vector<Line> table_lines(const std::string& title, const std::vector<TableColumn>& columns,
                              const std::vector<TableRow>& rows, int total) {
  const int width = label_width(title, columns, rows, total);
  std::vector<Line> out;
  const bool apart = display_width(title) > width;
  if (apart) out.push_back({{title, Ink::kBold}});
  Line header = {{pad_right(apart ? "" : title, width), Ink::kBold}};
  for (const TableColumn& c : columns) header.push_back({padded(c.title, c), Ink::kBold});
  out.push_back(std::move(header));
  for (const TableRow& row : rows) add_row(row, columns, width, total, out);
  return out;
}

}  // namespace plait
