#pragma once
// Brings the ranks of a plan to life and lets them meet: as threads or processes that we start
// ourselves, or as what mpirun, srun or torchrun started.

#include <functional>
#include <string>
#include <vector>

#include "realrun/transport.h"

namespace plait {

class ShapedNetwork;

struct WorldOptions {
  std::string transport = "threads";  // "threads", "tcp", "mpi"
  double patience_s = 60;
  /// Of tcp: each host a network namespace with shaped links; rank r is on host r / ranks_per_host.
  const ShapedNetwork* network = nullptr;
  std::int64_t ranks_per_host = 1;
  /// This program and its arguments, for mpirun to start again on every rank.
  std::vector<std::string> command;
};

/// Runs `body` once on each of `ranks` ranks. Returns what it returned on rank 0; in a process that
/// a launcher started, what it returned on this rank. Throws EnvironmentError when a rank fails,
/// naming it; then no rank is left. Throws InputError G013 on rank 0 when a launcher started
/// another number of ranks (of processes, for threads: one); the other ranks then return 0, so that
/// it is said once.
int run_world(std::int64_t ranks, const WorldOptions& options,
              const std::function<int(Transport&)>& body);

}  // namespace plait
