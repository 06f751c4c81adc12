#include "costmodel/single_loss.h"

#include <gtest/gtest.h>

#include "costmodel/costmodel.h"
#include "tests/costmodel/devices.h"

namespace plait::single_loss_test {

constexpr std::int64_t kRows = 8192;

// llm.c: logits read once and gradients in their place, 4 bytes for each logit in bf16; over tp no
// kernel knows a row's sum before the ranks have met. Less what a cache holds, half of 50 MB each
// time.
TEST(SingleLoss, ALossInOneKernelReadsAndWritesLogitsOnce) {
  CostModel single;
  single.kernels.cross_entropy = Fusion::kSingle;
  using Step = CrossEntropy::Step;
  const auto bytes = [&](bool split) {
    std::int64_t sum = 0;
    for (const Step step : {Step::kRowMax, Step::kSums, Step::kGradient}) {
      CrossEntropy loss{step, kRows, 32000};
      loss.split = split;
      if (step != Step::kGradient) {
        EXPECT_EQ(single.compute(loss, h100()).total() == Seconds(), !split);
      }
      sum += single.memory_bytes(loss, h100()).value;
    }
    return static_cast<double>(sum) / (kRows * 32000);
  };
  EXPECT_NEAR(bytes(false), 4, 0.1);
  EXPECT_NEAR(bytes(true), 8, 0.4);
}

}  // namespace plait::single_loss_test
