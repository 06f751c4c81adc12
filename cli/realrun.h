#pragma once
// The options of `plait realrun` and its modes, one per file.

#include <string>
#include <vector>

#include "cli/options.h"

namespace plait {

struct RealrunOptions {
  ScenarioOptions scenario;
  OutputOptions output;
  bool verify = false, matrix = false;
  std::vector<std::string> precisions;
  int steps = 1;
};

/// The verified matrix: every case in every precision. Returns the exit code.
int run_matrix(const RealrunOptions& options);

}  // namespace plait
