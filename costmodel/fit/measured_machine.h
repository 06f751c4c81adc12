#pragma once
// What was measured: the GPU whose kernels measurements are of, and the hosts that they are from.

#include <optional>
#include <string>
#include <vector>

#include "core/warning.h"
#include "model/measurement.h"
#include "topologies/cluster.h"

namespace plait {

/// The GPU that is asked for, or else the one that the driver reported; nothing where the rows are
/// of a processor, and where the catalogue has no such GPU (W009). W034 where the driver reported
/// another than is asked for. Throws InputError C002 for a
/// name that the catalogue has not.
std::optional<Device> measured_gpu(const std::vector<Row>& rows, const std::string& asked_for,
                                   Warnings& warnings);

/// W015 where they are of several hosts.
void warn_of_hosts(const std::vector<Row>& rows, Warnings& warnings);

}  // namespace plait
