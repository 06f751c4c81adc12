#pragma once
// The cases of the matrix that communicate in a way that none before did.

#include <set>
#include <string>
#include <vector>

#include "realrun/matrix.h"

namespace plait {

/// What communication a case has, over how many ranks, and in which schedule.
inline std::set<std::string> kinds_of(const MatrixCase& c) {
  const Plan plan = make_plan(c.model, c.workload, c.strategy);
  std::set<std::string> out = {"schedule " + std::string(name_of(c.strategy.pipeline.schedule))};
  for (const Block& block : plan.blocks) {
    for (const Op& op : block.ops) {
      if (op.stream == Stream::kCompute) continue;
      const Collective* collective = std::get_if<Collective>(&op.body);
      const std::int64_t ranks = collective == nullptr ? 2 : plan.mesh.size_of(collective->axes);
      const bool in_place = op.operands[0].use == Use::kUpdate;
      out.insert(std::string(name_of(op)) + std::string(name_of(op.stream)) +
                 (ranks > 2 ? ", many" : "") + (in_place ? ", in place" : ""));
    }
  }
  return out;
}

inline std::vector<MatrixCase> first_of_each_kind() {
  std::vector<MatrixCase> out;
  std::set<std::string> seen;
  for (const MatrixCase& c : gpu_matrix_cases()) {
    bool first = c.strategy.parameter_server.any();
    for (const std::string& kind : kinds_of(c)) first |= seen.insert(kind).second;
    if (first) out.push_back(c);
  }
  return out;
}

}  // namespace plait
