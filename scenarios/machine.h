#pragma once
// The machine alone: of a scenario, or of a file that says nothing but its cluster.

#include <string>
#include <vector>

#include "core/warning.h"
#include "scenarios/scenario.h"

namespace plait {

struct DescribedCluster {
  Cluster cluster;
  Warnings warnings;  // W021, W027
};

/// `text` is a scenario, {"cluster": ...}, or what stands behind "cluster" in one; whatever else a
/// scenario says is not read. Overrides name scenario paths ("cluster.nodes"). `file` is what
/// messages call the text. Throws InputError with its place.
DescribedCluster parse_machine(const std::string& text, const std::string& file,
                               const std::vector<Override>& overrides = {});

}  // namespace plait
