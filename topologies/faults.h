#pragma once
// Takes failed and slow parts out of a machine. The nodes that they are in become kinds of their
// own; cables of the fabric keep what is left of their bandwidth.

#include <vector>

#include "topologies/fault.h"
#include "topologies/graph.h"

namespace plait {

/// Throws InputError C010 for a part or link that is not there, and C009 for devices that are left
/// without a NIC in a machine of several nodes.
void apply_faults(Graph& graph, const std::vector<Fault>& faults);

}  // namespace plait
