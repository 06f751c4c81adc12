#pragma once
// What needs large libraries (MPI, CUDA) is a plug-in beside the program, so that everything else
// starts fast and runs without them.

#include <string>

namespace plait {

/// Whether this build has `file` ("libplait_mpi.so"): beside the program, or in ../lib/plait of an
/// installation.
bool has_plugin(const std::string& file);

/// What the plug-in exports as `symbol`. Throws EnvironmentError: `missing` where this build has it
/// not, "cannot load `name`: ..." where a library of its own is missing. It stays loaded.
void* load_plugin(const std::string& file, const char* symbol, const std::string& name,
                  const std::string& missing);

}  // namespace plait
