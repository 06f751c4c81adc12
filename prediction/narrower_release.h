#pragma once
// What to say of a model that does not fit and that its publisher offers in fewer bits.

#include <string>

#include "plan/serving.h"

namespace plait {

/// The settings of a checkpoint that is published narrower than the scenario's weights:
/// "serving.weights=fp8 ..."; or "".
std::string narrower_release(const std::string& model, const ServingPrecision& precision);

}  // namespace plait
