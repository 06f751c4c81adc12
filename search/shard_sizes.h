#pragma once
// What a rank's share of the network takes of memory, read from the plan of a few layers of each
// kind and one microbatch (search/shard_costs.cpp).

#include <vector>

#include "plan/plan.h"
#include "search/shard_costs.h"

namespace plait {

/// Parameters, the optimizer's op, and a message between stages of `pipeline`. `adapters`: nothing
/// else is trained.
void read_sizes(const Plan& probe, const std::vector<KindOfLayers>& kinds, bool adapters,
                const PipelineOptions& pipeline, ShardSizes& out);

/// What is live, of the last layer of each kind, which is the first one of its kind in the backward
/// pass; but for the layers of `modules` behind the model's, which go through theirs before any
/// other.
void read_memory(const Plan& probe, const std::vector<KindOfLayers>& kinds, std::int64_t modules,
                 ShardSizes& out);

}  // namespace plait
