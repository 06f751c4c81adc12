#pragma once
// How busy a step keeps the links of its machine.

#include <vector>

#include "prediction/prediction.h"
#include "reports/html/link_use.h"

namespace plait {

/// For each class of links that the step uses, NVLink first.
std::vector<BusyLinks> link_use(const Scenario& scenario, const Prediction& prediction);

}  // namespace plait
