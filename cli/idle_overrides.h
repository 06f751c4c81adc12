#pragma once
// Options of the command line that changed nothing, which whoever typed them should know.

#include <string>
#include <vector>

#include "cli/options.h"
#include "prediction/evaluate.h"
#include "prediction/prediction.h"

namespace plait {

/// W002 for each --set without which the prediction is the same. `unfold`: whether `p` was
/// simulated so.
std::vector<std::string> idle_overrides(const ScenarioOptions& options, const ScenarioText& text,
                                        const Reported& p, bool unfold);

}  // namespace plait
