// Plans whose communication NCCL carries, on the emulated device and an emulated NCCL: every
// collective and message finds its communicator, its operands and its peers.
#include <gtest/gtest.h>

#include <set>

#include "realrun/compute/cuda/cuda_device.h"
#include "realrun/matrix.h"

namespace plait::cuda {
namespace {

constexpr int kSteps = 2;

void expect_pass(const std::vector<MatrixCase>& cases, RunPrecision precision) {
  MatrixRunner runner(precision, kSteps, cuda_device({.nccl = true}));
  for (const MatrixCase& c : cases) {
    SCOPED_TRACE(c.name);
    const MatrixRow row = runner.run(c);
    EXPECT_TRUE(row.passed) << row.result.worst_error << " in " << row.result.worst_tensor;
    EXPECT_EQ(row.result.held, row.result.planned);
  }
}

/// What communication a case has, over how many ranks, and in which schedule.
std::set<std::string> kinds_of(const MatrixCase& c) {
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

std::vector<MatrixCase> first_of_each_kind() {
  std::vector<MatrixCase> out;
  std::set<std::string> seen;
  for (const MatrixCase& c : matrix_cases()) {
    bool first = c.strategy.parameter_server.any();
    for (const std::string& kind : kinds_of(c)) first |= seen.insert(kind).second;
    if (first) out.push_back(c);
  }
  return out;
}

TEST(Nccl, CarriesEveryKindOfCommunication) {
  expect_pass(first_of_each_kind(), RunPrecision::kFp32);
}
/// With --gtest_also_run_disabled_tests.
TEST(Nccl, DISABLED_EveryCaseInFp32) { expect_pass(matrix_cases(), RunPrecision::kFp32); }
TEST(Nccl, DISABLED_EveryCaseInBf16) { expect_pass(matrix_cases(), RunPrecision::kBf16); }

}  // namespace
}  // namespace plait::cuda
