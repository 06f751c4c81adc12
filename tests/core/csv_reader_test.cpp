#include "core/csv_reader.h"

#include <gtest/gtest.h>

namespace plait::csv_reader_test {

using Rows = std::vector<std::vector<std::string>>;

Rows rows(const std::string& text, char between = ',') {
  CsvReader reader(text, between);
  Rows out;
  for (CsvRecord record; reader.next(record);) out.push_back(record.cells);
  return out;
}

TEST(CsvReader, QuotesHoldSeparatorsLineEndsAndQuotes) {
  EXPECT_EQ(rows("\"a,b\",\"say \"\"x\"\"\"\r\n\"two\nlines\",\"\"\n"),
            (Rows{{"a,b", "say \"x\""}, {"two\nlines", ""}}));
}

TEST(CsvReader, BlanksAreOfACellWhereTheyAreInIt) {
  EXPECT_EQ(rows(" long chat , \" b \" ,c\n"), (Rows{{"long chat", "b", "c"}}));
  EXPECT_EQ(rows("a b\tc\t\n", '\t'), (Rows{{"a b", "c", ""}}));
}

TEST(CsvReader, LastLinesNeedNoEndAndBlankOnesAreToldApart) {
  EXPECT_EQ(rows("1,\n\n2,3"), (Rows{{"1", ""}, {""}, {"2", "3"}}));
  EXPECT_EQ(rows(""), Rows{});
  EXPECT_EQ(rows("\"never closed, \n"), (Rows{{"never closed, \n"}}));
  EXPECT_EQ(rows("\""), (Rows{{""}}));
}

TEST(CsvReader, RecordsKnowTheLineThatTheyBeginOn) {
  CsvReader reader("a\n\"b\nc\"\nd\n", ',');
  std::vector<int> lines;
  for (CsvRecord record; reader.next(record);) lines.push_back(record.line);
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 4}));
}

}  // namespace plait::csv_reader_test
