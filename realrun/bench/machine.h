#pragma once
// Facts of this machine, and the first row of a file of measurements.

#include <string>

#include "model/measurement.h"
#include "realrun/bench/quiet.h"

namespace plait {

/// Of this machine, now; `bench`, `version` and `command` as given.
RunRow describe_run(const std::string& bench, const std::string& version,
                    const std::string& command, const Quietness& quietness);

}  // namespace plait
