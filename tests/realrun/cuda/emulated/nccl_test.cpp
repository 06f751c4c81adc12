// Plans whose communication NCCL carries, on the emulated device and an emulated NCCL: every
// collective and message finds its communicator, its operands and its peers.
#include <gtest/gtest.h>

#include "realrun/compute/cuda/cuda_device.h"
#include "tests/realrun/cuda/emulated/kinds_of_communication.h"

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

TEST(Nccl, CarriesEveryKindOfCommunication) {
  expect_pass(first_of_each_kind(), RunPrecision::kFp32);
}
/// With --gtest_also_run_disabled_tests.
TEST(Nccl, DISABLED_EveryCaseInFp32) { expect_pass(matrix_cases(), RunPrecision::kFp32); }
TEST(Nccl, DISABLED_EveryCaseInBf16) { expect_pass(matrix_cases(), RunPrecision::kBf16); }

}  // namespace
}  // namespace plait::cuda
