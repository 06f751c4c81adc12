#pragma once
// What a scenario's kernels and messages cost: its cost model.

#include <memory>

#include "costmodel/costmodel.h"
#include "scenarios/scenario.h"

namespace plait {

/// The cost model with the scenario's calibration, where it names one. Throws InputError K0xx; C012
/// for a calibration and several kinds of nodes.
CostModel costs_of(const Scenario& scenario);
/// The same where its calibration is there already: calibration_of(scenario).
CostModel costs_of(const Scenario& scenario, std::shared_ptr<const Calibration> calibration);
/// What the scenario's calibration file holds; null where it names none. Throws InputError K0xx.
std::shared_ptr<const Calibration> calibration_of(const Scenario& scenario);

}  // namespace plait
