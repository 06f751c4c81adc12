#pragma once
// In which types a published run keeps Adam's state and its gradients, by the words of its record.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/published/record.h"

namespace plait {

/// Adds what the record's precision, optimizer, notes and arguments say to `precision`, whose
/// `weights` are there: `master`, `moments`, `gradients`, `reduction`; and to `assumed` what
/// follows from that.
void add_state(nlohmann::ordered_json& precision, const PublishedRun& run,
               std::vector<std::string>& assumed);

}  // namespace plait
