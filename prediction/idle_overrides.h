#pragma once
// Overrides of a scenario that changed nothing, which whoever gave them should know.

#include <cstddef>
#include <vector>

#include "prediction/evaluate.h"
#include "prediction/prediction.h"

namespace plait {

/// The numbers of those without which the prediction `p` of `text` with `sets` is the same.
/// `unfold`: whether it was simulated so.
std::vector<std::size_t> idle_overrides(const std::vector<Override>& sets, const ScenarioText& text,
                                        const Reported& p, bool unfold);

}  // namespace plait
