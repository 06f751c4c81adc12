#pragma once
// What identifies a run, for those who repeat it.

#include <string>

#include "reports/report.h"
#include "scenarios/scenario.h"

namespace plait {

/// Of `scenario` by this command line.
RunFacts run_facts(const Scenario& scenario, const std::string& command_line);

}  // namespace plait
