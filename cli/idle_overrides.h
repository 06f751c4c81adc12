#pragma once
// Options of the command line that changed nothing, which whoever typed them should know.

#include <string>
#include <vector>

#include "cli/evaluate.h"
#include "cli/options.h"
#include "cli/prediction.h"

namespace plait {

/// W002 for each --set without which the prediction is the same. `unfold`: how `p` was simulated.
std::vector<std::string> idle_overrides(const ScenarioOptions& options, const ScenarioText& text,
                                        const Prediction& p, bool unfold);

}  // namespace plait
