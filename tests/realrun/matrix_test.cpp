// Every strategy and hybrid computes the losses, gradients and first moments of the unsharded plan,
// with active clipping; in fp64 over two optimizer steps: the second one starts from what the first
// one's clip factor, optimizer and gathers made. In less precision Adam's quotients of tiny moments
// make weights differ by more than gradients may; every other case runs in fp32, the others in bf16
// (`plait realrun --matrix --precision fp64,fp32,bf16` runs all).
#include "realrun/matrix/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "plan/validate.h"
#include "tests/realrun/strategy_files.h"

namespace plait::matrix_test {

/// Every `step`-th case from `first` on.
void expect_to_pass(RunPrecision precision, std::size_t first, std::size_t step) {
  const std::vector<MatrixCase> cases = matrix_cases();
  MatrixRunner runner(precision, precision == RunPrecision::kFp64 ? 2 : 1);
  for (std::size_t i = first; i < cases.size(); i += step) {
    const MatrixCase& c = cases[i];
    const MatrixRow row = runner.run(c);
    const Verification& v = row.result;
    const Tolerance& allowed = row.allowed;
    SCOPED_TRACE(c.name);
    EXPECT_LE(v.whole_error, allowed.whole);
    EXPECT_LE(v.worst_error, allowed.error) << v.worst_tensor;
    EXPECT_GE(v.worst_cosine, allowed.cosine);
    EXPECT_LE(v.loss_error, allowed.loss);
    EXPECT_TRUE(v.replicas_agree);
    EXPECT_EQ(v.held, v.planned);
    EXPECT_TRUE(row.passed) << v.weight_error;
    // Clipping to norm 1 is active, so a wrong norm would show.
    EXPECT_GT(v.gradient_norm, 1);
  }
}

// In fp32 the command verifies every case: tests/cli/realrun_test.py.
TEST(Matrix, GradientsEqualTheUnshardedOnesInFp64) { expect_to_pass(RunPrecision::kFp64, 0, 1); }
TEST(Matrix, GradientsEqualTheUnshardedOnesInBf16) { expect_to_pass(RunPrecision::kBf16, 1, 2); }

TEST(Matrix, PlansAreExecutable) {
  for (const MatrixCase& c : matrix_cases()) {
    SCOPED_TRACE(c.name);
    const Workload w = in_precision(c.workload, RunPrecision::kBf16);
    for (const PlanFault& f : validate(make_plan(c.model, w, c.strategy))) ADD_FAILURE() << f.text;
  }
}

TEST(Matrix, UsesEveryFileOfPlanStrategies) {
  std::set<std::string> used, there;
  for (const MatrixCase& c : matrix_cases()) {
    for (const std::string& file : strategy_files(c)) used.insert(file);
  }
  for (const auto& entry : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/plan/strategies"))
    if (entry.path().extension() == ".cpp") there.insert(entry.path().filename());
  // In verify_test.cpp: fp8 is not rounded, and the matrix is for GPUs too, which have no nvfp4.
  for (const char* file : {"narrow.cpp", "narrow_weights.cpp", "plain_layers.cpp"})
    there.erase(file);
  // Serving has no gradients.
  for (const char* file :
       {"inference.cpp", "inference_experts.cpp", "inference_fusion.cpp", "kv_cache.cpp",
        "latent_cache.cpp", "processor.cpp", "row_split.cpp", "state_cache.cpp"})
    there.erase(file);
  EXPECT_EQ(used, there);
}

TEST(Matrix, RunsOnOneToEightRanks) {
  std::set<std::int64_t> ranks;
  for (const MatrixCase& c : matrix_cases()) ranks.insert(c.strategy.mesh.world_size());
  for (std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8}) EXPECT_TRUE(ranks.contains(n)) << n;
}

}  // namespace plait::matrix_test
