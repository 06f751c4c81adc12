#pragma once
// From a step to the whole training that the scenario describes.

#include "plan/plan.h"
#include "reports/report.h"
#include "scenarios/scenario.h"

namespace plait {

/// Of steps of so many tokens. Requires scenario.training. Throws InputError S190 where failures
/// come too fast to get on.
TrainingReport training_of(const Scenario& scenario, const Plan& plan, std::int64_t tokens,
                           SimTime step);

}  // namespace plait
