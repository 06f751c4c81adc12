#pragma once
// Which layers each piece of a pipeline holds.

#include <cstdint>
#include <vector>

#include "plan/strategy.h"

namespace plait {

/// first[i] .. first[i + 1]: the layers of piece i of `pieces`. Throws InputError S030 where the
/// layers cannot be shared evenly, S035 where those given do not fit the model.
std::vector<std::int32_t> first_layers(std::int64_t layers, std::int64_t pieces,
                                       const PipelineOptions& options);

}  // namespace plait
