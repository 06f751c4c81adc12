#include "reports/csv.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reports/made_up.h"

namespace plait::csv_test {

/// RFC 4180, section 2, read strictly.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += '"', ++i;
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text.compare(i, 2, "\r\n") == 0) {
      rows.push_back({""}), ++i;
    } else {
      field += text[i];
    }
  }
  rows.pop_back();  // after the last line break
  return rows;
}

TEST(Csv, OnlyFieldsThatNeedQuotesHaveThem) {
  EXPECT_EQ(csv_field("plain words"), "plain words");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

TEST(Csv, EveryRowHasAValueForEveryColumn) {
  const auto rows = parse_csv(to_csv(MadeUp().report()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], csv_columns());
  EXPECT_EQ(rows[1].size(), rows[0].size());
}

TEST(Csv, AwkwardNamesReadBackTheSame) {
  MadeUp m;
  m.model.name = "a \"b\", c\r\nd";
  const auto rows = parse_csv(to_csv(m.report()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1][1], m.model.name);
}

TEST(Csv, ValuesStandUnderTheirNames) {
  const Report r = MadeUp().report();
  const auto rows = parse_csv(to_csv(r));
  const auto value = [&](const std::string& column) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), column) - rows[0].begin();
    return rows.at(1).at(static_cast<std::size_t>(at));
  };
  EXPECT_EQ(std::stod(value("step_time_s")), 3e-6);
  EXPECT_EQ(value("peak_memory_bytes"), "750");
  EXPECT_EQ(value("overhead_bytes"), "150");
  EXPECT_EQ(value("activation_bytes"), "300");
  EXPECT_EQ(std::stod(value("exposed_communication_s")), 1e-6);
  EXPECT_EQ(value("pp"), "2");
  EXPECT_EQ(value("fits"), "true");
}

TEST(Csv, OptimizerBytesAndSecondsAreDifferentColumns) {
  const std::vector<std::string> columns = csv_columns();
  EXPECT_EQ(std::count(columns.begin(), columns.end(), "optimizer_s"), 1);
  EXPECT_EQ(std::count(columns.begin(), columns.end(), "optimizer_bytes"), 1);
}

TEST(Csv, WhatIsInHostMemoryStandsBesideWhatThatHas) {
  Report r = MadeUp().report();
  const auto host = [&r] {
    const auto rows = parse_csv(to_csv(r));
    const auto at = std::ranges::find(rows[0], "host_bytes_per_node") - rows[0].begin();
    return std::pair(rows[1][static_cast<std::size_t>(at)],
                     rows[1][static_cast<std::size_t>(at) + 1]);
  };
  EXPECT_EQ(host(), std::pair(std::string(), std::string()));
  r.memory.host_bytes = 5000, r.memory.host_capacity_bytes = 4000;
  EXPECT_EQ(host(), std::pair(std::string("5000"), std::string("4000")));
}

}  // namespace plait::csv_test
