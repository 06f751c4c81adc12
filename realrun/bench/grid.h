#pragma once
// Which ops `plait bench compute` measures: for each kind of kernel, shapes of models spread
// evenly over the logarithms of their sizes, drawn by a fixed hash. Half of the sizes are 2^k or 3
// 2^k, as those of real models, half any multiple of 16, so that what is fitted is not a rule for
// powers of two.

#include <vector>

#include "model/op.h"
#include "realrun/bench/extents.h"

namespace plait {

/// In an order that mixes kinds and sizes: what the machine does meanwhile then meets all of them.
/// Always the same.
std::vector<Compute> compute_grid(const Extents& extents);

}  // namespace plait
