#include "realrun/transport/plugin.h"

#include "realrun/plugin.h"

namespace plait {
namespace {

constexpr const char* kFile = "libplait_mpi.so";

}  // namespace

bool has_mpi_transport() { return has_plugin(kFile); }

std::unique_ptr<Transport> load_mpi_transport(int channels) {
  const auto make = reinterpret_cast<MakeTransport>(
      load_plugin(kFile, "plait_transport", "MPI",
                  "this build has no MPI: install an MPI (Debian: libopenmpi-dev) and build again, "
                  "or use --transport tcp"));
  return std::unique_ptr<Transport>(make(channels));
}

}  // namespace plait
