#pragma once
// From a published run to the scenario that says the same: no knob of its own, only what the record
// states, the profile of the framework that it names, and documented defaults for what it leaves
// out.

#include <string>
#include <vector>

#include "scenarios/published/not_representable.h"
#include "scenarios/published/record.h"

namespace plait {

struct RecordScenario {
  std::string framework;             // the profile that was chosen
  std::string json;                  // of a scenario file
  std::vector<std::string> assumed;  // what the record does not say, and what was taken
};

/// Throws NotRepresentable.
RecordScenario scenario_of(const PublishedRun& published);

/// Of the software that a record names (docs/validate.md has the rules).
struct ChosenProfile {
  std::string name, told;  // told: as it stands among what was assumed
};
ChosenProfile profile_of(const PublishedRun& run);
/// Its name.
std::string framework_of(const PublishedRun& run);
/// The year that the framework's name says, or else the source; 0: neither.
int year_of(const PublishedRun& run);

}  // namespace plait
