#pragma once
// The machines, or variants of a scenario, that are searched one after another, and what is said of
// them all.

#include <memory>
#include <string>
#include <vector>

#include "core/warning.h"
#include "prediction/search/study.h"
#include "reports/search.h"

namespace plait {

using Studies = std::vector<std::unique_ptr<Study>>;

struct Machines {
  Studies studies;
  SearchReport about;                 // without an answer
  const Study* as_written = nullptr;  // of the scenario's own machine, where it is searched
  Warnings warnings = {};
};

/// Those of the question and of fields that list values; it outlives them. Throws InputError as
/// their scenarios do, and for what some of them lack to be ranked.
Machines machines_of(const SearchQuestion& question);

}  // namespace plait
