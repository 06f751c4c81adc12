#pragma once
// Predictions of many variations of scenarios, for commands that put them side by side.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/warning.h"
#include "costmodel/costmodel.h"
#include "prediction/prices.h"
#include "prediction/scenario_text.h"
#include "reports/report.h"
#include "scenarios/scenario.h"

namespace plait {

/// One prediction to be made.
struct Variant {
  const ScenarioText* scenario = nullptr;
  std::vector<Override> sets;
  /// When the devices are too few or too many, the data-parallel axis gives way.
  bool may_fill = false;
  /// When not empty, its pictures are wanted too, for a page, under this name.
  std::string timeline_label = {};
};

struct Outcome {
  std::optional<Report> report;
  std::string reason;              // without a report: why it cannot be planned, with the code
  std::optional<Override> filled;  // the axis that gave way, and its size
  std::string timeline, memory;    // JSON for a page, where they were asked for
};

/// Whether a table has the error as a row: a layout or a machine that is not possible, of which
/// others may be. False for what all of them are wrong by.
bool is_of_one_row(const InputError& error);

/// Predicts variants, from any thread. Calibrations are read once.
class Evaluator {
 public:
  /// `prices`: of --price (prediction/prices.h), beside what scenarios say.
  explicit Evaluator(std::string command_line, std::vector<std::string> prices = {})
      : command_line_(std::move(command_line)), prices_(std::move(prices)) {}

  /// A layout that does not divide or combine (S0xx) is an outcome; any other InputError is one of
  /// the input as a whole, and thrown.
  Outcome operator()(const Variant& variant);

  /// W001 for each price of a device that no variant so far has, W026 where variants with different
  /// devices have one price. Throws InputError G024 as require_prices does.
  Warnings warnings_of_prices() const;

 private:
  void price(Scenario& scenario);
  Outcome predicted(const Variant& variant, Scenario scenario);
  CostModel costs(const Scenario& scenario);

  std::string command_line_;
  std::vector<std::string> prices_;
  mutable std::mutex mutex_;
  std::set<PricedDevice> devices_;  // of all variants, where there are prices
  std::map<std::string, std::shared_ptr<const Calibration>> calibrations_;  // by path
};

}  // namespace plait
