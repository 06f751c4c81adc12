#pragma once
// Published training runs, predicted.

#include <functional>
#include <string>

#include "reports/validate.h"
#include "scenarios/published/record.h"

namespace plait {

/// What is measured of the run and what is predicted of it, or the reason why nothing is: whatever
/// is thrown of one record, the others can be predicted all the same. `described` hears the
/// scenario that the record describes, as JSON, before it is predicted; what it throws is thrown.
ValidationRecord published_prediction(
    const PublishedRun& run, const std::function<void(const std::string& scenario)>& described);

}  // namespace plait
