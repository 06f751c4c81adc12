#pragma once
// Several reports side by side, each with its difference to the first.

#include <optional>
#include <string>
#include <vector>

#include "reports/report.h"
#include "reports/terminal.h"

namespace plait {

/// One scenario or one variation of it. Without a report, `reason` says why it cannot be planned.
struct ComparedScenario {
  std::string label;  // "tp = 4, pp = 2", or the file
  std::optional<Report> report;
  std::string reason;
};

/// Index of the candidate that the others are compared to: the first that has a report. Nothing
/// when none has.
std::optional<std::size_t> reference_of(const std::vector<ComparedScenario>& candidates);

/// step time / step time of the reference - 1.
double step_time_difference(const Report& report, const Report& reference);

/// Whether steps are of as many tokens, as far as a packed batch's padding lets them.
bool same_batch(const Report& a, const Report& b);

/// The same where steps are of one batch; else of the time per token.
double time_per_token_difference(const Report& report, const Report& reference);

/// A part of the step time that differs between two reports.
struct Difference {
  std::string group;  // "bubble"
  double change_s = 0;
};
/// The parts that change by 0.1 % of the step time of `from` or more, the largest first.
std::vector<Difference> differences(const Report& from, const Report& to);

/// Share of the step time of a group ("bubble") in the breakdown.
double fraction_of(const Report& report, const std::string& group);

/// "MFU counts whole squares of causal attention; where half of each counts, as kernels compute it,
/// it is 40.1 % to 45.3 %", of those where that matters, or "".
std::string half_squares_words(const std::vector<const Report*>& reports);

/// What 1e9 tokens cost, "68.4"; "-": not said.
Span price_cell(const Report& report);
/// What the whole training costs, "48.9 M"; "-": not said.
Span training_price_cell(const Report& report);
/// What it takes of all devices at their rated power, "29.1 MWh"; "-": not known.
Span training_energy_cell(const Report& report);
/// "yes", or "NO" in the colour of what is bad.
Span fits_cell(const Report& report);

std::string comparison_text(const std::vector<ComparedScenario>& candidates,
                            const TerminalStyle& style);
std::string comparison_json(const std::vector<ComparedScenario>& candidates);
std::string comparison_csv(const std::vector<ComparedScenario>& candidates);

/// "5%", "5 %" or "0.05" as a fraction; above 1 with the sign alone. Throws InputError G008.
double parse_limit(const std::string& text);

/// Labels of the candidates that have no report or whose step time differs from the reference's by
/// more than `limit` (0.05: 5 %).
std::vector<std::string> over_limit(const std::vector<ComparedScenario>& candidates, double limit);

}  // namespace plait
