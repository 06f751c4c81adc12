#pragma once
// In which types a published run computes, and keeps and gathers its weights.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// workload.precision; appends what the recipe says and the record does not.
nlohmann::ordered_json precision_of(const PublishedRun& run, std::vector<std::string>& assumed);

/// Products are in MXFP8, which Megatron-Bridge's page of release 25.09 has in brackets, as finer
/// granularity.
bool in_mxfp8(const PublishedRun& run);

/// Products are in 8 bits with a scale for each block of 128 elements, as "blockwise" and
/// Megatron-Bridge's FP8-SC, for sub-channel, say.
bool scales_by_blocks(const PublishedRun& run);

/// Weights are gathered in 8 bits by FSDP, and their scales found once a step (torchtitan's
/// precompute_float8_dynamic_scale_for_fsdp).
bool scales_early(const PublishedRun& run);

/// Whether products of its linear layers read 8 or 4 bits.
bool narrows_products(const PublishedRun& run);

}  // namespace plait
