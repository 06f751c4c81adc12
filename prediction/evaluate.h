#pragma once
// Predictions of many variations of scenarios, for commands that put them side by side.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "costmodel/costmodel.h"
#include "reports/report.h"
#include "scenarios/scenario.h"

namespace plait {

/// A scenario file, read once.
struct ScenarioText {
  std::string file, text;
};

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
  explicit Evaluator(std::string command_line) : command_line_(std::move(command_line)) {}

  /// A layout that does not divide or combine (S0xx) is an outcome; any other InputError is one of
  /// the input as a whole, and thrown.
  Outcome operator()(const Variant& variant);

 private:
  Outcome predicted(const Variant& variant, const std::vector<Override>& sets);
  CostModel costs(const Scenario& scenario);

  std::string command_line_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Calibration>> calibrations_;  // by path
};

}  // namespace plait
