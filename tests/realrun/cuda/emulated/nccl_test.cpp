// Plans whose communication NCCL carries, on the emulated device and an emulated NCCL: every
// collective and message finds its communicator, its operands and its peers.
#include <gtest/gtest.h>

#include "realrun/compute/cuda/cuda_device.h"
#include "tests/realrun/cuda/emulated/kinds_of_communication.h"
#include "tests/realrun/cuda/expect_pass.h"

namespace plait::cuda {
namespace {

MakeDevice gpu_of_nccl() { return cuda_device({.nccl = true}); }

TEST(Nccl, CarriesEveryKindOfCommunication) {
  expect_pass(gpu_of_nccl(), RunPrecision::kFp32, first_of_each_kind());
}
/// With --gtest_also_run_disabled_tests.
TEST(Nccl, DISABLED_EveryCaseInFp32) {
  expect_pass(gpu_of_nccl(), RunPrecision::kFp32, matrix_cases());
}
TEST(Nccl, DISABLED_EveryCaseInBf16) {
  expect_pass(gpu_of_nccl(), RunPrecision::kBf16, matrix_cases());
}

}  // namespace
}  // namespace plait::cuda
