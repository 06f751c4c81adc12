#pragma once
// What parts of a model are trained beside one another, besides what require_model.h says of models
// that are trained or served.

#include "model/model.h"
#include "plan/workload.h"

namespace plait {

/// Throws InputError S130, of modules that predict further tokens, and S140 to S143, of encoders,
/// with the field.
void require_trained_model(const Model& model, const Workload& workload);

}  // namespace plait
