#pragma once
// What an engine may be asked for and is not described here.

#include "model/model.h"
#include "plan/requests.h"

namespace plait {

/// Throws InputError S180: prefix caching of a model some of whose layers keep a window or a state.
void require_described(const Model& model, const EngineLimits& limits);

}  // namespace plait
