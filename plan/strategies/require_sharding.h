#pragma once
// Which state of training can be shards, and over which ranks.

#include "plan/strategies/draft.h"

namespace plait {

/// Throws InputError (S020 to S022, S025, S028, S029, S051) where the strategy shards what cannot
/// be.
void require_sharding(const Draft& d);

}  // namespace plait
