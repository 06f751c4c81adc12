// Ranks that share a GPU, each in a green context, and take one another's data: on the emulated
// device.
#include <gtest/gtest.h>

#include "core/error.h"
#include "plan/schedule.h"
#include "realrun/compute/cuda/cuda_device.h"
#include "tests/realrun/cuda/emulated/kinds_of_communication.h"
#include "tests/realrun/cuda/expect_pass.h"

namespace plait::cuda::green_test {

MakeDevice gpu_of_green() { return cuda_device({.green = true}); }

TEST(GreenContexts, CarryEveryKindOfCommunication) {
  expect_pass(gpu_of_green(), RunPrecision::kFp32, every_kind());
}
/// Numbers of two bytes: all that travels in bf16, and a few of the others.
TEST(GreenContexts, CarryNumbersInBf16) {
  constexpr std::size_t kEvery = 8;
  std::vector<MatrixCase> cases;
  std::size_t i = 0;
  for (const MatrixCase& c : every_kind()) {
    const bool travels = c.workload.precision.reduction == DType::kBf16;
    if (i++ % kEvery == 0 || travels) cases.push_back(c);
  }
  expect_pass(gpu_of_green(), RunPrecision::kBf16, cases);
}
/// Stages that wait for their own messages to leave, each before it takes the other's.
TEST(GreenContexts, KeepNoSenderWaiting) {
  std::vector<MatrixCase> cases = gpu_matrix_cases();
  std::erase_if(cases, [](const MatrixCase& c) {
    const PipelineOptions& p = c.strategy.pipeline;
    return p.blocking_sends != BlockingSends::kAll || !splits_backward(p.schedule);
  });
  ASSERT_FALSE(cases.empty());
  expect_pass(gpu_of_green(), RunPrecision::kFp32, cases);
}
/// With --gtest_also_run_disabled_tests.
TEST(GreenContexts, DISABLED_EveryCaseInFp32) {
  expect_pass(gpu_of_green(), RunPrecision::kFp32, gpu_matrix_cases());
}
TEST(GreenContexts, DISABLED_EveryCaseInBf16) {
  expect_pass(gpu_of_green(), RunPrecision::kBf16, gpu_matrix_cases());
}

/// 132 multiprocessors in partitions of 8, 16, 32, ...: three of 40 would fit and cannot be had.
TEST(GreenContexts, AreAsLargeAsPartitionsAllow) {
  for (const auto& [parts, size] : {std::pair{1, 128}, {2, 64}, {3, 32}, {4, 32}, {16, 8}}) {
    const auto shares = green_contexts(0, parts);
    EXPECT_EQ(shares.size(), static_cast<std::size_t>(parts));
    for (const auto& share : shares) EXPECT_EQ(share->multiprocessors(), size);
  }
  EXPECT_THROW(green_contexts(0, 17), EnvironmentError);
}

}  // namespace plait::cuda::green_test
