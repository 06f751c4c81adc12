#pragma once
// What a file says of batches, where it says it by the steps that a replica adds up: global = micro
// x steps x replicas, whichever of the three is left out.

#include <cstdint>
#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/scenario_tree.h"

namespace plait {

/// Sets the batch, or the micro-batch, that follows from `imported` and the base in `tree`.
/// `warnings`, where given, gets W008 where a pipeline is filled and drained several times in a
/// step. Throws InputError D004 where the sizes do not go together.
void agree_on_batches(ScenarioTree& tree, const Imported& imported, const std::string& file,
                      std::int64_t replicas, Warnings* warnings);

/// How many micro-batches a replica adds up, as the file says it; 0: it does not.
std::int64_t accumulation_steps(const Imported& imported);

}  // namespace plait
