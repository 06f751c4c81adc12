#pragma once
// What a scenario says that changes nothing in the best layouts of its search, whatever it might
// change in others.

#include <string>
#include <vector>

#include "core/warning.h"
#include "prediction/search/question.h"
#include "reports/search.h"

namespace plait {

/// W001 of fields that have no effect in any of these layouts, but for those that are searched.
Warnings idle_in_best(const SearchQuestion& question, const std::vector<SearchRow>& best);

}  // namespace plait
