#pragma once
// Figures that machines must have to be ranked by a search: prices, or rated powers.

#include <vector>

#include "prediction/search/question.h"

namespace plait {

/// Throws InputError G024 where the objective needs a price that only some of the machines
/// have, or a power that not all have.
void require_figures(const SearchQuestion& question, const std::vector<const Scenario*>& machines);

}  // namespace plait
