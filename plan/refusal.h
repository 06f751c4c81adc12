#pragma once
// What cannot be planned: an InputError that names the scenario's field. The loader of the scenario
// knows where in the file that field stands and adds it.

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace plait {

/// `path`: the field, "strategy.tp". `others`: those that it does not go with.
inline InputError refusal(const char* code, std::string problem, std::string path,
                          std::string expected, std::string cure,
                          std::vector<std::string> others = {}) {
  return InputError({code,
                     std::move(problem),
                     {"", 0, 0, std::move(path)},
                     std::move(expected),
                     std::move(cure),
                     std::move(others)});
}

/// Fields that say how many ranks and replicas there are.
inline std::vector<std::string> fields_of_sizes() {
  return {"strategy.tp",   "strategy.pp",   "strategy.stage_tp",
          "strategy.fsdp", "strategy.cp",   "strategy.ep",
          "strategy.dp",   "cluster.nodes", "cluster.devices_per_node",
          "cluster.preset"};
}

}  // namespace plait
