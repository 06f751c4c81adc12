// Plans whose communication NCCL carries, on the emulated device and an emulated NCCL: every
// collective and message finds its communicator, its operands and its peers.
#include <gtest/gtest.h>

#include "core/error.h"
#include "realrun/compute/cuda/cuda_device.h"
#include "realrun/compute/cuda/direct.h"
#include "realrun/launch/rank_threads.h"
#include "tests/emulated_cuda/nccl/emulated_nccl.h"
#include "tests/realrun/cuda/emulated/kinds_of_communication.h"
#include "tests/realrun/cuda/expect_pass.h"

namespace plait::cuda::nccl_test {

MakeDevice gpu_of_nccl() { return cuda_device({.nccl = true}); }

TEST(Nccl, CarriesEveryKindOfCommunication) {
  expect_pass(gpu_of_nccl(), RunPrecision::kFp32, every_kind());
}
/// What a rank has sent may not have left when its stream has come to its end: only where a rank
/// fails are communicators aborted, which drops it.
TEST(Nccl, EndsWhenAllRanksHaveFinalized) {
  MatrixCase c = gpu_matrix_cases().front();
  c.strategy.mesh[Axis::kPp] = 2;
  const std::size_t before = emulated::aborted_communicators();
  expect_pass(gpu_of_nccl(), RunPrecision::kFp32, {c});
  EXPECT_EQ(emulated::aborted_communicators(), before);
}
TEST(Nccl, AbortsWhereARankFails) {
  const std::size_t before = emulated::aborted_communicators();
  const auto fail = [](Transport& transport) -> int {
    const auto comm = nccl_comm(transport, {{0, 1}}, 64);
    throw EnvironmentError("a rank has failed");
  };
  EXPECT_THROW(run_threads(2, fail), EnvironmentError);
  EXPECT_EQ(emulated::aborted_communicators(), before + 4);  // a pair's and all ranks', on either
}
/// With --gtest_also_run_disabled_tests.
TEST(Nccl, DISABLED_EveryCaseInFp32) {
  expect_pass(gpu_of_nccl(), RunPrecision::kFp32, gpu_matrix_cases());
}
TEST(Nccl, DISABLED_EveryCaseInBf16) {
  expect_pass(gpu_of_nccl(), RunPrecision::kBf16, gpu_matrix_cases());
}

}  // namespace plait::cuda::nccl_test
