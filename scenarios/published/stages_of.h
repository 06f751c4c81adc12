#pragma once
// Pieces of a pipeline that a run lists one by one: Megatron-LM's pipeline_model_parallel_layout,
// in a record's words or by the recipe that it is of. Such a list has the modules that predict
// further tokens too, as one layer each.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

struct ListedStages {
  std::vector<std::int64_t> layers;  // of each piece, in the order of the model
  std::int64_t modules = 0;          // all behind the last layer
  std::string told;                  // where they are from
};
/// Nothing where no list is known; no layers where it is of another model or number of stages.
std::optional<ListedStages> stages_of(const PublishedRun& run);

}  // namespace plait
