#pragma once
// Scenarios that differ from one in a single decision about how the work is split.

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace plait {

struct Neighbour {
  std::string decision;        // "recompute": those of one decision exclude one another
  std::vector<Override> sets;  // as --set takes them; the data-parallel axis has to give way
};

/// Each size (micro-batch, tp, pp, cp, ep, chunks) twice, four times (ep eight times too), and
/// halved down to the least, tp half and twice against pp, and every other choice of recomputation,
/// schedule, sharding of training state, overlap, dispatch of tokens to experts, order of the ranks
/// on the devices, offload of the optimizer, of it with parameters and of activations, a loss in
/// pieces, and sums of gradients before they are sharded, of what the scenario's framework has
/// (search/offers.h). All of them compute the same step. Whether they can be planned is for the
/// planner to say.
std::vector<Neighbour> neighbours(const Scenario& scenario);

}  // namespace plait
