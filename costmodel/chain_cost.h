#pragma once
// How long a chain of kernels takes.

#include "costmodel/cost.h"
#include "costmodel/eager.h"

namespace plait {

/// Nothing where there is no chain. By the memory bandwidth, but for what kernels of it do by the
/// piece or one element at a time beyond that.
Cost chain_cost(const KernelChain& chain, const Device& device);

}  // namespace plait
