#pragma once
// Starts this program again on every rank, by mpirun.

#include <cstdint>
#include <string>
#include <vector>

namespace plait {

/// Runs `command` on `ranks` ranks of this machine and returns its exit code. More ranks than cores
/// are allowed, and root is. Throws EnvironmentError when there is no mpirun, a rank fails or
/// mpirun goes on after its ranks have ended.
int run_mpirun(std::int64_t ranks, const std::vector<std::string>& command);

}  // namespace plait
