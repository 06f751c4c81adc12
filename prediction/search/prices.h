#pragma once
// What devices cost for an hour, as a search is told, and figures that machines must have to be
// ranked.

#include <string>
#include <vector>

#include "prediction/search/question.h"

namespace plait {

/// What a device of the machine costs for an hour, the mean over all: as --price gives it, "2.5"
/// for all, "h100-sxm=2.5" for one kind, else as the scenario does. 0: not said. Throws InputError
/// G024, also where only some of its kinds have a price.
double price_of(const std::vector<std::string>& prices, const Scenario& machine);

/// W001 for each --price of a device that no machine has.
std::vector<std::string> idle_prices(const std::vector<std::string>& prices,
                                     const std::vector<const Scenario*>& machines);

/// Throws InputError G024 for a --price of a device that is neither searched nor in the catalogue,
/// and where the objective needs a price that only some of the machines have, or a power that not
/// all have.
void require_figures(const SearchQuestion& question, const std::vector<const Scenario*>& machines);

}  // namespace plait
