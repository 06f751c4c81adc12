#pragma once
// Layouts of an engine side by side, under the same load: who waits how long, what a device yields,
// and how much room the cache has.

#include <optional>
#include <string>
#include <vector>

#include "reports/serving.h"

namespace plait {

struct ServingCandidate {
  std::string label;
  std::optional<ServingReport> report;
  std::string reason;  // without a report: why it cannot be served
};

std::string serving_comparison_text(const std::vector<ServingCandidate>& candidates,
                                    const TerminalStyle& style);
/// An object with the list "candidates": label, served, and the report or the reason.
std::string serving_comparison_json(const std::vector<ServingCandidate>& candidates);
/// A line per candidate.
std::string serving_comparison_csv(const std::vector<ServingCandidate>& candidates);

}  // namespace plait
