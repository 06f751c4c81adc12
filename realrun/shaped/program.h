#pragma once
// Runs the system's programs, without a shell between.

#include <string>
#include <vector>

namespace plait {

/// Full path of a program: searched for along PATH, then where administrators' programs are, which
/// is not on everybody's PATH. Throws NotPermitted that names the package to install.
std::string find_program(const std::string& name, const std::string& package);

struct ProgramEnd {
  int code = 0;      // exit code; 128 + signal when it was killed
  std::string said;  // what it wrote, without the last line end
};

/// Runs a program in the calling thread's namespaces and waits for it. `words[0]` is its full path.
/// Throws EnvironmentError when it cannot be started.
ProgramEnd run_program(const std::vector<std::string>& words);

}  // namespace plait
