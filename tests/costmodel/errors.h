#pragma once
// Errors of predictions, by what the rows have in common.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace plait {

class Errors {
 public:
  struct Summary {
    std::size_t rows = 0;
    double mean = 0, bias = 0;  // of predicted / measured - 1
    double p80 = 0, p90 = 0;    // of |log(predicted / measured)|
    double within_band = 0;     // share of the rows
  };

  /// `ratio`: predicted / measured; `band` as the prediction states it.
  void add(const std::string& what, double ratio, double band) {
    rows_[what].push_back({ratio, band});
  }
  std::map<std::string, Summary> summaries() const {
    std::map<std::string, Summary> out;
    for (const auto& [what, rows] : rows_) out[what] = summary(rows);
    return out;
  }
  void print() const {
    fmt::print("{:44}  rows  mean   bias    p80    p90  in band, %\n", "held out");
    for (const auto& [what, s] : summaries())
      fmt::print("{:44} {:5} {:5.1f} {:+6.1f} {:6.1f} {:6.1f} {:8.0f}\n", what, s.rows,
                 100 * s.mean, 100 * s.bias, 100 * s.p80, 100 * s.p90, 100 * s.within_band);
  }

 private:
  struct Row {
    double ratio, band;
  };
  static Summary summary(const std::vector<Row>& rows) {
    Summary s{.rows = rows.size()};
    std::vector<double> logs;
    const auto n = static_cast<double>(rows.size());
    for (const Row& row : rows) {
      s.mean += std::abs(row.ratio - 1) / n;
      s.bias += (row.ratio - 1) / n;
      logs.push_back(std::abs(std::log(row.ratio)));
      s.within_band += logs.back() <= row.band ? 1 / n : 0;
    }
    std::ranges::sort(logs);
    s.p80 = logs[logs.size() * 8 / 10];
    s.p90 = logs[logs.size() * 9 / 10];
    return s;
  }
  std::map<std::string, std::vector<Row>> rows_;
};

}  // namespace plait
