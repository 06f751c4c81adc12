#pragma once
// How long sequences may be (max_model_len), against the model's positions and against what is
// asked. vLLM refuses both: an engine for more tokens than the model has positions, and a request
// whose prompt and answer are longer than the engine's sequences.

#include <vector>

#include "scenarios/scenario.h"
#include "serving/requests.h"

namespace plait {

/// Throws InputError S194 where a max_model_len that the scenario states is above the model's
/// positions.
void require_positions(const Scenario& scenario);

/// Limits that are not stated become the longest request: of a trace it is known only now. Throws
/// InputError S194 where that is longer than the model has positions, R004 for the first request
/// that is longer than a limit that is stated.
void require_context(const std::vector<Request>& requests, const Scenario& scenario,
                     Serving& serving);

}  // namespace plait
