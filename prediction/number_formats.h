#pragma once
// The number formats that products of a served model are in, asked of its devices before anything
// is placed or timed.

#include "scenarios/scenario.h"

namespace plait {

/// Throws InputError C005 where a device that serves has no matrix units for one.
void require_formats(const Scenario& scenario, const Serving& serving);

}  // namespace plait
