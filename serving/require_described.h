#pragma once
// What an engine may be asked for and is not described here.

#include "model/model.h"
#include "plan/requests.h"

namespace plait {

/// Throws InputError S180: prefix caching of a model some of whose layers keep a window or a state.
/// S181: guesses by a model or module that is not there, or of another vocabulary. S182: guesses
/// for a model with states; by a model over pipeline stages, over layers off the devices, or for
/// layers with windows. S187: prefill and decode apart for layers that keep a window or a state, or
/// that are off the devices, and with guesses by a model.
void require_described(const Model& model, const Serving& serving, const Mesh& mesh);

}  // namespace plait
