// Shares of a step, worked out by hand, and what must hold of any.
#include "reports/profile/step_profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/profile/measured_profile.h"
#include "tests/reports/made_up_trace.h"

namespace plait::step_profile_test {

using enum KernelKind;
constexpr SimTime kUs = 1'000'000;  // picoseconds

//   us         0         10        20        30        40        50
//   compute    matmul    .         norm      .
//   nccl            all_reduce (5 to 27)     .
//   copy                                          35 to 45
StepProfile by_hand() {
  return account({{0, 10 * kUs, kMatMul},
                  {20 * kUs, 30 * kUs, kNorm},
                  {5 * kUs, 27 * kUs, kAllReduce},
                  {35 * kUs, 45 * kUs, kCopy}},
                 50e-6);
}

TEST(StepProfile, EveryInstantBelongsToOne) {
  const StepProfile p = by_hand();
  EXPECT_NEAR(p.kinds[kMatMul].share_s, 10e-6, 1e-15);
  EXPECT_NEAR(p.kinds[kNorm].share_s, 10e-6, 1e-15);
  EXPECT_NEAR(p.exposed_s, 10e-6, 1e-15);     // from 10 to 20
  EXPECT_NEAR(p.overlapped_s, 12e-6, 1e-15);  // 5 to 10 and 20 to 27
  EXPECT_NEAR(p.kinds[kCopy].share_s, 10e-6, 1e-15);
  EXPECT_NEAR(p.idle_s, 10e-6, 1e-15);  // 30 to 35 and 45 to 50
}

TEST(StepProfile, TimeOnTheDeviceCountsWhateverRunsBeside) {
  const StepProfile p = by_hand();
  EXPECT_NEAR(p.kinds[kAllReduce].time_s, 22e-6, 1e-15);
  EXPECT_EQ(p.kinds[kAllReduce].calls, 1);
}

TEST(StepProfile, OfTwoKernelsAtOnceTheFirstHasTheTime) {
  const StepProfile p = account({{0, 10 * kUs, kMatMul}, {4 * kUs, 12 * kUs, kNorm}}, 12e-6);
  EXPECT_NEAR(p.kinds[kMatMul].share_s, 10e-6, 1e-15);
  EXPECT_NEAR(p.kinds[kNorm].share_s, 2e-6, 1e-15);
  EXPECT_NEAR(p.kinds[kNorm].time_s, 8e-6, 1e-15);
}

TEST(StepProfile, BusBandwidthIsThatOfNcclTests) {
  MessageUse m{.kind = kAllReduce, .ranks = 4, .bytes = 1000};
  EXPECT_NEAR(m.busbw(1e-6), 1e9 * 2 * 3 / 4, 1);
  m.kind = kAllGather;
  EXPECT_NEAR(m.busbw(1e-6), 1e9 * 3 / 4, 1);
  m.bytes = 0;
  EXPECT_EQ(m.busbw(1e-6), 0);
}

RC_GTEST_PROP(StepProfile, SharesAddUpToTheStep, ()) {
  std::vector<ProfiledSpan> spans;
  SimTime end = 0;
  for (int n = *rc::gen::inRange(0, 30); n > 0; --n) {
    const SimTime start = *rc::gen::inRange<SimTime>(0, 1000) * kUs;
    const SimTime length = *rc::gen::inRange<SimTime>(0, 200) * kUs;
    spans.push_back(
        {start, start + length, static_cast<KernelKind>(*rc::gen::inRange(0, kKernelKinds))});
    end = std::max(end, start + length);
  }
  const StepProfile p = account(spans, to_seconds(end).value);
  double shares = p.idle_s, communication = 0;
  for_each_kind([&](KernelKind k) {
    shares += p.kinds[k].share_s;
    if (is_communication(k)) communication += p.kinds[k].share_s;
    RC_ASSERT(p.kinds[k].share_s <= p.kinds[k].time_s + 1e-12);
  });
  RC_ASSERT(std::abs(shares - p.step_s) < 1e-12);
  RC_ASSERT(std::abs(communication - p.exposed_s) < 1e-12);
}

// ---- Of a trace ----

/// A device that waits: for the host until 100 (launched at 90, done at 91), then not at all, then
/// from 200 on for something else, since the kernel at 230 was launched long before.
MadeUpTrace waiting() {
  MadeUpTrace m;
  m.step(1, 0, 300), m.step(2, 300, 600);
  m.kernel("gemm", 0, 10, 60);
  m.kernel("gemm", 90, 100, 150);
  m.kernel("flash_fwd_kernel", 92, 150, 200);
  m.kernel("my_kernel", 95, 230, 260);
  m.kernel("gemm", 305, 310, 320);
  m.kernel("gemm", 306, 320, 330);
  m.kernel("gemm", 307, 330, 340);
  m.kernel("gemm", 308, 340, 350);
  return m;
}

TEST(MeasuredProfile, IdleTimeIsTheHostsWhereNothingWasLaunched) {
  const MadeUpTrace m = waiting();
  const StepProfile p = measured_profile(m.trace, steps_of(m.trace)).step;
  EXPECT_NEAR(p.step_s, 300e-9, 1e-15);  // from 10 to 310
  // 60 to 100, of which until 91 the host's; 200 to 230; 260 to 310, until 306 the host's.
  EXPECT_NEAR(p.idle_s, (40 + 30 + 50) * 1e-9, 1e-15);
  EXPECT_NEAR(p.host_idle_s, (31 + 46) * 1e-9, 1e-15);
}

TEST(MeasuredProfile, UnknownKernelsAreListedAndCounted) {
  const MadeUpTrace m = waiting();
  const StepProfile p = measured_profile(m.trace, steps_of(m.trace)).step;
  EXPECT_NEAR(p.kinds[kUnknown].time_s, 30e-9, 1e-15);
  EXPECT_TRUE(std::ranges::any_of(p.kernels, [](const KernelUse& k) {
    return k.name == "my_kernel" && k.kind == kUnknown && k.calls == 1;
  }));
}

TEST(MeasuredProfile, MessagesAreThoseOfAllStepsByKindRanksAndSize) {
  MadeUpTrace m;
  for (std::int64_t s = 0; s < 4; ++s) {
    m.step(s, 1000 * s, 1000 * s + 1000);
    m.kernel("gemm", 1000 * s, 1000 * s + 10, 1000 * s + 20);
    for (std::int64_t k = 0; k < 2; ++k) {
      const std::int64_t start = 1000 * s + 100 + 200 * k;
      m.message("ncclDevKernel_SendRecv(", {"all_to_allv", "BFloat16", 64, 64, 8}, 1000 * s + 1,
                start, start + 50 + 10 * s + k);
    }
  }
  const StepProfile p = measured_profile(m.trace, steps_of(m.trace)).step;
  ASSERT_EQ(p.messages.size(), 1);
  const MessageUse& use = p.messages[0];
  EXPECT_EQ(use.kind, kAllToAll);
  EXPECT_EQ(use.ranks, 8);
  EXPECT_EQ(use.bytes, 128);
  EXPECT_EQ(use.calls, 2);
  EXPECT_NEAR(use.least_s, 50e-9, 1e-15);
  // 50 51 60 61 70 71 80 81
  EXPECT_NEAR(use.median_s, 61e-9, 1e-15);
}

TEST(MeasuredProfile, CopiesBesideACollectiveAreNoCollectives) {
  MadeUpTrace m;
  m.step(1, 0, 100);
  m.message("void at::native::CatArrayBatchedCopy<>(int)", {"all_gather", "Float", 1, 2, 2}, 1, 10,
            20);
  m.message("ncclDevKernel_Generic(", {"all_gather", "Float", 1, 2, 2}, 2, 20, 30);
  const StepProfile p = measured_profile(m.trace, steps_of(m.trace)).step;
  EXPECT_EQ(p.kinds[kElementwise].calls, 1);
  EXPECT_EQ(p.kinds[kAllGather].calls, 1);
}

TEST(MeasuredProfile, AWholeTraceIsDividedBySteps) {
  MadeUpTrace m;
  for (std::int64_t k = 0; k < 10; ++k) m.kernel("gemm", -1, 100 * k, 100 * k + 60);
  const StepProfile p = measured_profile(m.trace, steps_of(m.trace, 5)).step;
  EXPECT_NEAR(p.step_s, 960e-9 / 5, 1e-15);
  EXPECT_EQ(p.kinds[kMatMul].calls, 2);
  EXPECT_NEAR(p.kinds[kMatMul].time_s, 120e-9, 1e-15);
  EXPECT_NEAR(p.idle_s, 9 * 40e-9 / 5, 1e-15);
}

}  // namespace plait::step_profile_test
