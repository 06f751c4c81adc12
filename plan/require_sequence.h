#pragma once
// How long a sequence can be.

#include <cstdint>

#include "model/model.h"
#include "plan/workload.h"

namespace plait {

/// Throws InputError S042, S014, with the field. `cp`: ranks that share a sequence's tokens.
void require_sequence(const Model& model, const Workload& workload, std::int64_t cp);

}  // namespace plait
