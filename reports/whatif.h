#pragma once
// A what-if study: one scenario, some of its fields varied, and for each combination the step time,
// what bounds it and what it costs; then from where on a field no longer matters.

#include <optional>
#include <string>
#include <vector>

#include "core/measure.h"
#include "core/override.h"
#include "core/vary.h"
#include "core/warning.h"
#include "reports/break_even.h"
#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// A varied field.
struct Knob {
  std::string path;                 // as asked for
  std::vector<std::string> values;  // as asked for
  /// The values as numbers of the unit of the first, where all are quantities of one kind.
  std::vector<Measure> measures;
  std::string base;  // value in the scenario; "" where that is not one value

  bool numeric() const { return !measures.empty(); }
};

/// Reads the values. `base` in a unit of the same kind becomes one of that of the first value.
Knob make_knob(const Variation& variation, const std::string& base);
/// The quantity of `number` in the knob's unit.
Measure measure_of(const Knob& knob, double number);

/// The varied fields at one value each, and what is predicted.
struct WhatIfPoint {
  std::vector<std::string> values;  // one per knob
  std::optional<Report> report;
  std::string reason;  // without a report
  /// The data-parallel axis, where it had to give way to the number of devices.
  std::optional<Override> filled;
};

struct KnobFinding {
  std::size_t knob = 0;
  BreakEven found;
  /// Of what has no effect: not a byte of what is predicted changes.
  bool changes_nothing = false;
  std::string why = {};  // "x has no effect: y", where that is known (W001)
};

/// At `at` of knob 0, the points of `first` and `second` (values of the other knobs) take equally
/// long; below it `first` is faster.
struct Crossover {
  std::vector<std::string> first, second;
  double at = 0;
};

struct WhatIf {
  std::string scenario, command;
  std::vector<Knob> knobs;
  WhatIfPoint base;                 // nothing varied
  std::vector<WhatIfPoint> points;  // all combinations, the last knob changing fastest
  std::vector<KnobFinding> findings;
  std::vector<Crossover> crossovers;
  Warnings warnings;  // of the study as a whole
};

/// Of the first point that was planned, to which the others are compared; nullptr when none was.
const Report* first_report(const WhatIf& study);

/// What points are compared by: the whole training where the scenario describes it, else the step.
double compared_time_s(const Report& report);
bool compares_trainings(const WhatIf& study);
/// compared_time_s / that of `reference` - 1.
double compared_difference(const Report& report, const Report& reference);

/// "tp 8, recompute full": values of all knobs but the first.
std::string name_of_others(const WhatIf& study, const std::vector<std::string>& others);

/// "above 262 Gbit/s cluster.inter_node.bandwidth no longer matters ..."
std::string sentence(const WhatIf& study, const KnobFinding& finding);
std::string sentence(const WhatIf& study, const Crossover& crossover);

std::string whatif_text(const WhatIf& study, const TerminalStyle& style);
std::string whatif_json(const WhatIf& study);
std::string whatif_csv(const WhatIf& study);
/// Step time over the first knob, a line for each combination of the others.
std::string whatif_svg(const WhatIf& study);

}  // namespace plait
