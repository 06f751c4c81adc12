#include "reports/table.h"

#include <algorithm>

namespace plait {
namespace {

constexpr int kMinLabel = 12;
constexpr int kTableGap = 2;  // right of the numbers

int width_of(const std::vector<TableColumn>& columns) {
  int out = 0;
  for (const TableColumn& c : columns) out += c.width;
  return out;
}

int longest_label(const std::string& title, const std::vector<TableRow>& rows) {
  int out = std::max(kMinLabel, display_width(title));
  for (const TableRow& r : rows) out = std::max(out, display_width(r.label));
  return out;
}

/// The table without the optional columns that it has no room for.
void leave_out(const std::string& title, std::vector<TableColumn>& columns,
               std::vector<TableRow>& rows, int total) {
  constexpr int kLabel = 16;  // longer ones may stand above their numbers
  const int label = std::min(longest_label(title, rows), kLabel);
  for (std::size_t i = columns.size(); i-- > 0 && label + width_of(columns) > total;) {
    if (!columns[i].optional) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    columns.erase(columns.begin() + at);
    for (TableRow& row : rows) {
      if (!row.cells.empty()) row.cells.erase(row.cells.begin() + at);
    }
  }
}

int label_width(const std::string& title, const std::vector<TableColumn>& columns,
                const std::vector<TableRow>& rows, int total) {
  const int room = total - width_of(columns) - kTableGap;
  return std::clamp(room, kMinLabel, longest_label(title, rows));
}

std::string padded(const std::string& text, const TableColumn& column) {
  return column.left ? "  " + pad_right(text, column.width - 2) : pad_left(text, column.width);
}

/// A cell that fills its column would run into the one before it.
void widen(std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const int gap = columns[i].left ? 2 : 1;
      if (columns[i].left && i + 1 == columns.size()) continue;  // nothing stands behind it
      columns[i].width = std::max(columns[i].width, display_width(row.cells[i].text) + gap);
    }
  }
}

/// What stands in the last column, of words, may be longer than that.
int overhang(const std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  if (columns.empty() || !columns.back().left) return 0;
  int longest = 0;
  for (const TableRow& row : rows) {
    if (!row.cells.empty()) longest = std::max(longest, display_width(row.cells.back().text));
  }
  return std::max(0, longest + 2 - columns.back().width);
}

/// No wider than titles and cells need.
void narrow(std::vector<TableColumn>& columns, const std::vector<TableRow>& rows) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    int needed = display_width(columns[i].title);
    for (const TableRow& row : rows) {
      if (!row.cells.empty()) needed = std::max(needed, display_width(row.cells[i].text));
    }
    columns[i].width = std::min(columns[i].width, needed + (columns[i].left ? 2 : 1));
  }
}

void fit(const std::string& title, std::vector<TableColumn>& columns, std::vector<TableRow>& rows,
         int total) {
  widen(columns, rows);
  const int beside = width_of(columns) + std::max(kTableGap, overhang(columns, rows));
  if (longest_label(title, rows) + beside > total) narrow(columns, rows);
  leave_out(title, columns, rows, total);
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

std::vector<Line> table_lines(const std::string& title, std::vector<TableColumn> columns,
                              std::vector<TableRow> rows, int total) {
  fit(title, columns, rows, total);
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

bool labels_have_room(const std::string& title, std::vector<TableColumn> columns,
                      std::vector<TableRow> rows, int total) {
  fit(title, columns, rows, total);
  return label_width(title, columns, rows, total) == longest_label(title, rows);
}

}  // namespace plait
