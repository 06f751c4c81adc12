#pragma once
// The rate of links with which the model takes as long for a collective as nccl-tests measured.
// What collectives get out of links is the model's own: bus bandwidth is no rate of a link.

#include <functional>
#include <optional>

#include "topologies/catalogue.h"
#include "topologies/importers/nccl_tests.h"

namespace plait {

/// The machine with links of `factor` times their rate.
using MachineWithLinks = std::function<ClusterSpec(double factor)>;

/// The factor at the largest size that was measured. None where the model has no such collective,
/// or cannot take as long, or as short, with links of a hundredth to a hundred times their rate.
std::optional<double> measured_link_factor(const CollectiveTimings& run,
                                           const MachineWithLinks& machine);

}  // namespace plait
