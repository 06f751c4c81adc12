#pragma once
// Which layers each piece of a pipeline holds.

#include <cstdint>
#include <vector>

#include "plan/strategy.h"

namespace plait {

/// The layers that the options give to neither end can be shared evenly by the other pieces.
bool can_share_evenly(std::int64_t layers, std::int64_t pieces, const PipelineOptions& options);

/// first[i] .. first[i + 1]: the layers of piece i of `pieces`. Throws InputError S030 where the
/// layers cannot be shared evenly, S035 where those given do not fit the model.
std::vector<std::int32_t> first_layers(std::int64_t layers, std::int64_t pieces,
                                       const PipelineOptions& options);

}  // namespace plait
