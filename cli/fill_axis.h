#pragma once
// Varying tp or pp leaves more or fewer devices for data parallelism; a comparison means them to
// be used.

#include <optional>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace plait {

/// The size of the data-parallel axis with which the strategy of `text`, changed by `overrides`,
/// fills the cluster: fsdp when the file shards, else dp. Nothing when the overrides give that axis
/// themselves or no whole size fills it. Throws as parse_scenario does for the file itself.
std::optional<Override> filling_axis(const std::string& text, const std::string& file,
                                     const std::vector<Override>& overrides);

}  // namespace plait
