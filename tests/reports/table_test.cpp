#include "reports/table.h"

#include <gtest/gtest.h>

namespace plait::table_test {

/// Two columns that always stand and two that may go, 10 wide each and full; labels of 12.
std::string drawn(int width) {
  const std::vector<TableColumn> columns = {
      {"a", 10}, {"b", 10, false, true}, {"c", 10}, {"d", 10, false, true}};
  const std::vector<TableRow> rows = {
      {"row", {{"1________"}, {"2________"}, {"3________"}, {"4________"}}, ""},
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

/// The numbers need 7 columns each, though they have 10: 26 of 42 are left for the label.
TEST(Table, NumbersMakeRoomForALongLabel) {
  const std::vector<TableColumn> columns = {{"step", 10}, {"memory", 10}};
  const std::string label = "sequence_length=4096 tp=12";
  const std::vector<TableRow> rows = {{label, {{"1.63 s"}, {"59.5"}}, ""}};
  TerminalStyle style;
  style.width = 1000;
  const std::string text = render(table_lines("", columns, rows, 42), style);
  EXPECT_TRUE(has(text, (label + " 1.63 s   59.5").c_str())) << text;
  EXPECT_TRUE(labels_have_room("", columns, rows, 42));
  EXPECT_FALSE(labels_have_room("", columns, rows, 38));
}

}  // namespace plait::table_test
