#pragma once
// What of a base's layout has no effect under the sizes that an imported file gives.

#include "scenarios/dialects/scenario_tree.h"

namespace plait {

/// One stage has no schedule, unless its passes take turns; there may be no ZeRO++, and no ranks
/// that split a layer, as the base's did. `keeps_ranks`: the file says nothing of ranks.
void leave_out_idle(ScenarioTree& tree, bool keeps_ranks);

}  // namespace plait
