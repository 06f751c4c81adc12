#include "reports/table.h"

#include <gtest/gtest.h>

namespace plait::table_test {

/// Two columns that always stand and two that may go, 10 wide each; labels of 12.
std::string drawn(int width) {
  const std::vector<TableColumn> columns = {
      {"a", 10}, {"b", 10, false, true}, {"c", 10}, {"d", 10, false, true}};
  const std::vector<TableRow> rows = {{"row", {{"1"}, {"2"}, {"3"}, {"4"}}, ""},
                                      {"not", {}, "there is none"}};
  TerminalStyle style;
  style.width = 1000;  // nothing wraps
  return render(table_lines("", columns, rows, width), style);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Table, WhereThereIsRoomAllColumnsStand) {
  for (const char* part : {"a", "b", "c", "d", "1", "2", "3", "4", "there is none"}) {
    EXPECT_TRUE(has(drawn(52), part)) << drawn(52);
  }
}

TEST(Table, TheLastOptionalColumnGoesFirst) {
  const std::string narrow = drawn(42);  // room for three
  EXPECT_TRUE(has(narrow, "2") && has(narrow, "3")) << narrow;
  EXPECT_FALSE(has(narrow, "4")) << narrow;
}

TEST(Table, WhatIsNotOptionalStays) {
  const std::string narrow = drawn(20);
  EXPECT_TRUE(has(narrow, "1") && has(narrow, "3")) << narrow;
  EXPECT_FALSE(has(narrow, "2") || has(narrow, "4")) << narrow;
}

// "  - -100.0 %" would read as a negative number.
TEST(Table, ACellThatFillsItsColumnStandsApartFromTheOneBefore) {
  const std::vector<TableColumn> columns = {{"regret", 7}, {"OOM", 7}};
  const std::vector<TableRow> rows = {{"row", {{"-"}, {"100.0 %"}}, ""}};
  TerminalStyle style;
  style.width = 1000;
  const std::string text = render(table_lines("", columns, rows, 100), style);
  EXPECT_TRUE(has(text, "- 100.0 %")) << text;
}

}  // namespace plait::table_test
