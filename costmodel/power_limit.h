#pragma once
// A board whose power limit is below that of the boards whose kernels were measured runs at a lower
// clock when they draw all of it, as products and attention do.

#include "topologies/cluster.h"

namespace plait {

/// How much longer arithmetic takes than on the board that was measured: 1 at its limit or above.
double products_slowed_by_power(const Device& device);
double attention_slowed_by_power(const Device& device);

}  // namespace plait
