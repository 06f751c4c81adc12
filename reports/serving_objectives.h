#pragma once
// What reports say of service level objectives: lines for people, objects for machines.

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/serving.h"

namespace plait {

/// The verdict and what was missed, goodput, and the highest rate where it was looked for; texts
/// behind a label of `width` columns. Empty without objectives.
std::vector<Line> objective_lines(const ServingReport& report, int width);

/// `slo` of the service: limits, how many requests are good, goodput.
nlohmann::ordered_json objectives_json(const ServingReport& report);
/// Good requests of a kind, or of all.
void add_attainment(nlohmann::ordered_json& tree, const Attainment& attainment);
nlohmann::ordered_json max_rate_json(const ServingReport& report);

}  // namespace plait
