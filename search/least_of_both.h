#pragma once
// Of two kinds of layers, narrow and plain ones, a model may have any number: none takes less time
// nor memory than the one that takes least of it.

#include "search/shard_costs.h"

namespace plait {

/// Narrow layers and plain ones (Precision::is_plain) stand beside one another.
bool has_both(const Precision& precision);
/// Everything as narrow, or everything as plain, as `precision` says.
Precision all_narrow(Precision precision);
Precision all_plain(Precision precision);

ShardTimesByKind least_of_both(ShardTimesByKind a, const ShardTimesByKind& b);
ShardCosts least_of_both(ShardCosts a, const ShardCosts& b);

}  // namespace plait
