#pragma once
// Cases of the matrix that communicate in every way in which one of all cases does.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "realrun/matrix/matrix.h"
#include "tests/realrun/cuda/cover.h"

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

/// All kinds, and every case with a parameter server.
inline std::vector<MatrixCase> every_kind() {
  const std::vector<MatrixCase> cases = gpu_matrix_cases();
  std::vector<MatrixCase> taken;
  for (const MatrixCase& c : cases) {
    if (c.strategy.parameter_server.any()) taken.push_back(c);
  }
  return covering(cases, kinds_of, std::move(taken));
}

}  // namespace plait
