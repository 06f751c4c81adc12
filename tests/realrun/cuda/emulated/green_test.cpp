// Ranks that share a GPU, each in a green context, and take one another's data: on the emulated
// device.
#include <gtest/gtest.h>

#include <set>

#include "core/error.h"
#include "realrun/compute/cuda/cuda_device.h"
#include "tests/realrun/cuda/emulated/kinds_of_communication.h"

namespace plait::cuda {
namespace {

void expect_pass(const std::vector<MatrixCase>& cases, RunPrecision precision) {
  constexpr int kSteps = 2;
  MatrixRunner runner(precision, kSteps, cuda_device({.green = true}));
  for (const MatrixCase& c : cases) {
    SCOPED_TRACE(c.name);
    const MatrixRow row = runner.run(c);
    EXPECT_TRUE(row.passed) << row.result.worst_error << " in " << row.result.worst_tensor;
    EXPECT_EQ(row.result.held, row.result.planned);
  }
}

TEST(GreenContexts, CarryEveryKindOfCommunication) {
  expect_pass(first_of_each_kind(), RunPrecision::kFp32);
}
/// With --gtest_also_run_disabled_tests.
TEST(GreenContexts, DISABLED_EveryCaseInFp32) { expect_pass(matrix_cases(), RunPrecision::kFp32); }
TEST(GreenContexts, DISABLED_EveryCaseInBf16) { expect_pass(matrix_cases(), RunPrecision::kBf16); }

/// 132 multiprocessors in partitions of eight.
TEST(GreenContexts, AreAsLargeAsPartitionsAllow) {
  for (const auto& [parts, size] : {std::pair{1, 128}, {2, 64}, {4, 32}, {16, 8}}) {
    const auto shares = green_contexts(0, parts);
    EXPECT_EQ(shares.size(), static_cast<std::size_t>(parts));
    for (const auto& share : shares) EXPECT_EQ(share->multiprocessors(), size);
  }
  EXPECT_THROW(green_contexts(0, 17), EnvironmentError);
}

}  // namespace
}  // namespace plait::cuda
