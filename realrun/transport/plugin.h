#pragma once
// The MPI transport, a plug-in (realrun/plugin.h).

#include <memory>

#include "realrun/transport.h"

namespace plait {

/// What a plug-in exports as `plait_transport`: starts the library and joins this process's rank.
/// Ends the library when it is destroyed.
using MakeTransport = Transport* (*)(int channels);

/// The MPI transport of this process, which mpirun or srun started. Throws EnvironmentError when
/// this build has none or its library does not load.
std::unique_ptr<Transport> load_mpi_transport(int channels);

/// Whether this build has it.
bool has_mpi_transport();

}  // namespace plait
