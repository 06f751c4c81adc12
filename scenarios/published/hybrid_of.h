#pragma once
// Published runs whose layers are not all alike: state-space mixers or gated delta nets beside
// attention. Records name the model, or quote Megatron-LM's pattern, and leave out most sizes.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// Adds to the `model` of a scenario what its layers are, if these are of several kinds, and to
/// `assumed` where that is from: the published configuration of the model that the record names, or
/// Megatron-LM's defaults. Throws NotRepresentable where the record is not of the same layers as
/// that configuration.
void add_hybrid(nlohmann::ordered_json& model, const PublishedRun& run,
                std::vector<std::string>& assumed);

}  // namespace plait
