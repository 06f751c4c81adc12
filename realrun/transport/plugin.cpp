#include "realrun/transport/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"

namespace plait {
namespace {

/// Beside the program, or in ../lib/plait of an installation.
std::filesystem::path plugin_path() {
  std::error_code ignored;
  const std::filesystem::path here =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::filesystem::path name = "libplait_mpi.so";
  for (const std::filesystem::path& folder : {here, here / ".." / "lib" / "plait", here / ".."}) {
    if (std::filesystem::exists(folder / name, ignored)) return folder / name;
  }
  return {};
}

}  // namespace

bool has_mpi_transport() { return !plugin_path().empty(); }

std::unique_ptr<Transport> load_mpi_transport(int channels) {
  const std::filesystem::path path = plugin_path();
  if (path.empty()) {
    throw EnvironmentError(
        "this build has no MPI: install an MPI (Debian: libopenmpi-dev) and build again, or use "
        "--transport tcp");
  }
  // Open MPI's own plug-ins look for its symbols among the global ones.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw EnvironmentError(std::string("cannot load MPI: ") + dlerror());
  const auto make = reinterpret_cast<MakeTransport>(dlsym(library, "plait_transport"));
  PLAIT_CHECK(make != nullptr, "a transport plug-in without plait_transport");
  return std::unique_ptr<Transport>(make(channels));
}

}  // namespace plait
