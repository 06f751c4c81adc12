#pragma once
// Whether somebody has started the ranks already: mpirun, srun or torchrun tell each process by its
// environment who it is.

#include <optional>
#include <string>

#include "realrun/transport/tcp.h"

namespace plait {

struct StartedRank {
  std::int64_t rank = 0, ranks = 1;
  bool one_machine = false;  // the launcher says that all ranks are on it
  std::string by;            // "mpirun", "srun", "torchrun"
  TcpAddress meeting;        // MASTER_ADDR and MASTER_PORT, where given
};

/// Nothing when this process was started by hand. Throws EnvironmentError when the environment
/// contradicts itself.
std::optional<StartedRank> started_rank();

}  // namespace plait
