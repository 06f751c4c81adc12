#pragma once
// What parts of a model stand beside one another, trained or served.

#include "model/model.h"

namespace plait {

/// Throws InputError where they cannot be planned so.
void require_model(const Model& model);

}  // namespace plait
