#pragma once
// Varying tp, pp or the number of nodes leaves more or fewer devices for data parallelism; a
// comparison means them to be used.

#include <optional>
#include <string>
#include <vector>

#include "prediction/scenario_text.h"
#include "scenarios/scenario.h"

namespace plait {

/// The size of the data-parallel axis with which the strategy of `text`, changed by `overrides`,
/// fills the cluster: dp when there are replicas or nothing is sharded, else or failing that fsdp.
/// Nothing when the overrides give that axis themselves or no whole size fills it. Throws as
/// parse_scenario does for what else is wrong.
std::optional<Override> filling_axis(const std::string& text, const std::string& file,
                                     const std::vector<Override>& overrides);

/// The scenario with `overrides`; where its devices are too few or too many, with the axis that
/// fills them too, which `filled` is told. Throws as parse_scenario does.
Scenario parse_filled(const ScenarioText& text, std::vector<Override> overrides,
                      std::optional<Override>& filled);

}  // namespace plait
