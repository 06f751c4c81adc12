// A made-up plan beside traces of it: the same where the trace is of the plan, else what differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/profile/predicted_profile.h"
#include "tests/reports/made_up_profile.h"
#include "tests/reports/made_up_trace.h"

namespace plait::profile_comparison_test {

using enum KernelKind;

/// Rank 0 of the made-up plan as a profiler would have recorded three steps of it.
MadeUpTrace recorded(std::int64_t all_reduce_bytes = 1000) {
  MadeUpTrace out;
  out.trace.file = "trace.json";
  out.trace.rank = 0, out.trace.world_size = 4;
  for (std::int64_t s = 0; s < 3; ++s) {
    const std::int64_t host = 3000 * s, device = 100'000 + 3000 * s;
    out.step(s + 1, host, host + 3000);
    out.kernel("nvjet_hsh", host + 1, device, device + 1000);
    out.message("ncclDevKernel_SendRecv(", {"send", "Byte", 2000, 2000, 4}, host + 2, device + 1000,
                device + 1500);
    out.message("ncclDevKernel_AllReduce_Sum_f32_RING_LL(",
                {"allreduce", "Byte", all_reduce_bytes, all_reduce_bytes, 2}, host + 3,
                device + 2500, device + 3000);
  }
  return out;
}

bool says(const ProfileComparison& c, const std::string& words) {
  return std::ranges::any_of(
      c.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

TEST(PredictedProfile, IsTheTrackInTheWordsOfKernels) {
  const MadeUp m;
  const StepProfile p = predicted_profile(m.plan, m.timeline.tracks[0], {}, 3e-6);
  EXPECT_NEAR(p.kinds[kMatMul].share_s, 1e-6, 1e-15);
  EXPECT_NEAR(p.exposed_s, 1e-6, 1e-15);  // the send and the all_reduce
  EXPECT_NEAR(p.idle_s, 1e-6, 1e-15);     // 1500 to 2500
  ASSERT_EQ(p.messages.size(), 2);
  EXPECT_EQ(p.messages[0].kind, kAllReduce);
  EXPECT_EQ(p.messages[0].bytes, 1000);  // 250 elements of fp32
  EXPECT_EQ(p.messages[0].ranks, 2);
}

TEST(PredictedProfile, ProjectionsThatRunOneByOneAreCountedOneByOne) {
  MadeUp m;
  auto& product = std::get<MatMul>(std::get<Compute>(m.plan.blocks[0].ops[0].body));
  product.packed.columns = {400, 300, 300};
  Kernels eager;
  eager.qkv = Fusion::kEager;
  EXPECT_EQ(predicted_profile(m.plan, m.timeline.tracks[0], {}, 1).kinds[kMatMul].calls, 1);
  EXPECT_EQ(predicted_profile(m.plan, m.timeline.tracks[0], eager, 1).kinds[kMatMul].calls, 3);
}

TEST(PredictedProfile, OperatorsTellTheSumOfGradientsFromItsProduct) {
  MadeUp m;
  auto& product = std::get<MatMul>(std::get<Compute>(m.plan.blocks[0].ops[0].body));
  product.pass = Pass::kWeightGrad, product.accumulate = true, product.out = DType::kFp32;
  Device& device = m.cluster.device;
  device.memory_bandwidth = BytesPerSecond(3e12), device.peak_bf16 = FlopsPerSecond(1e15);
  device.peak_fp32 = device.vector_fp32 = FlopsPerSecond(6e13);
  Kernels eager;
  eager.gradient_sum = Fusion::kEager;
  const auto kinds = [&](KindsTold told) {
    return predicted_profile(m.plan, m.timeline.tracks[0], eager, 3e-6, device, told).kinds;
  };
  const auto names = kinds(KindsTold::kByNames), operators = kinds(KindsTold::kByOperators);
  EXPECT_EQ(names[kGradientSum].calls, 0);
  EXPECT_EQ(operators[kGradientSum].calls, 1);
  EXPECT_EQ(operators[kMatMul].calls, 1);
  EXPECT_GT(operators[kGradientSum].time_s, 0);
  EXPECT_NEAR(operators[kGradientSum].time_s + operators[kMatMul].time_s, names[kMatMul].time_s,
              1e-12);
}

TEST(ProfileComparison, WhereOperatorsAreKnownTheVerdictNamesThem) {
  MadeUpTrace t = recorded();
  OperatorReader reader(t.trace.threads, t.trace.operator_names);
  for (std::int64_t s = 0; s < 3; ++s) {  // 300 of 3000 ns that the plan has nothing for
    reader.add({"aten::sort", 1, 3000 * s + 8, 3000 * s + 12, s + 1});
    t.kernel("elementwise_kernel", 3000 * s + 9, 101'600 + 3000 * s, 101'900 + 3000 * s).external =
        s + 1;
  }
  const ProfileComparison c = Compared()(t.trace);
  EXPECT_TRUE(c.measured.by_operators);
  EXPECT_NE(profile_verdict(c).find("10.0 points too few in elementwise"), std::string::npos);
  const auto json = nlohmann::json::parse(profile_json(c));
  EXPECT_TRUE(std::ranges::any_of(json["kernels"], [](const auto& k) {
    return k.value("operator", "") == "aten::sort" && k["name"] == "elementwise_kernel";
  }));
}

TEST(ProfileComparison, OfThePlanItselfNothingDiffers) {
  const ProfileComparison c = Compared()(recorded().trace);
  EXPECT_NEAR(step_difference(c), 0, 1e-9);
  for (const ProfileShare& s : c.shares) EXPECT_NEAR(s.difference_s(), 0, 1e-12) << s.name;
  ASSERT_EQ(c.messages.size(), 2);
  for (const MatchedMessage& m : c.messages) {
    EXPECT_EQ(m.measured.calls, m.predicted.calls);
    EXPECT_NEAR(m.measured.median_s, m.predicted.median_s, 1e-12);
  }
  EXPECT_TRUE(c.notes.empty());
  EXPECT_EQ(profile_verdict(c), "the prediction agrees with the run to 1 %");
}

TEST(ProfileComparison, OtherSizesOfMessagesAreANote) {
  const ProfileComparison c = Compared()(recorded(4000).trace);
  EXPECT_TRUE(says(c,
                   "the run has all_reduce of 3.9 KiB over 2 ranks, 1 a step; the plan "
                   "all_reduce of 1000 B over 2 ranks, 1 a step: other sizes"));
}

TEST(ProfileComparison, SizesThatDifferByPaddingAreOneMessage) {
  EXPECT_TRUE(Compared()(recorded(1008).trace).notes.empty());
}

TEST(ProfileComparison, AnotherWorldIsANote) {
  MadeUpTrace t = recorded();
  t.trace.world_size = 64;
  EXPECT_TRUE(says(Compared()(t.trace), "the run had 64 ranks, the scenario has 4"));
}

TEST(ProfileComparison, AJobThatRanAndDoesNotFitIsANote) {
  Compared compared;
  EXPECT_FALSE(says(compared(recorded().trace), "does not fit"));
  MemoryReport& memory = compared.report.memory;
  memory.fits = false, memory.peak_memory_bytes = 2 * memory.capacity_bytes + 1;
  EXPECT_TRUE(says(compared(recorded().trace), "the job ran, and the scenario does not fit: "));
}

TEST(ProfileComparison, AnotherGpuIsANote) {
  Compared compared;
  MadeUpTrace t = recorded();
  t.trace.gpus = {{0, "NVIDIA A100-SXM4-80GB", 108}};
  compared.m.cluster.device.name = "a100-80-sxm", compared.m.cluster.device.sms = 108;
  EXPECT_TRUE(compared(t.trace).notes.empty());
  compared.m.cluster.device.name = "h100-sxm";
  EXPECT_TRUE(says(compared(t.trace), "the run was on NVIDIA A100-SXM4-80GB"));
  compared.m.cluster.device.name = "a10";  // is part of "A100" and not the same
  EXPECT_TRUE(says(compared(t.trace), "the run was on NVIDIA A100-SXM4-80GB"));
  compared.m.cluster.device.name = "a100-80-sxm", compared.m.cluster.device.sms = 100;
  EXPECT_TRUE(says(compared(t.trace), "108 multiprocessors, a100-80-sxm has 100"));
}

TEST(ProfileComparison, OtherCallsAreANote) {
  MadeUpTrace t = recorded();
  for (std::int64_t s = 0; s < 3; ++s) {
    t.kernel("nvjet_hsh", 3000 * s + 9, 101'600 + 3000 * s, 101'700 + 3000 * s);
  }
  EXPECT_TRUE(says(Compared()(t.trace), "a step of the run has 2 products, of the plan 1"));
}

TEST(ProfileComparison, TheVerdictNamesWhatIsMissing) {
  MadeUpTrace t = recorded();
  for (std::int64_t s = 0; s < 3; ++s) {  // 100 of 3000 ns that the plan has no kernel for
    t.kernel("my_kernel", 3000 * s + 9, 101'600 + 3000 * s, 101'700 + 3000 * s);
  }
  const ProfileComparison c = Compared()(t.trace);
  EXPECT_TRUE(says(c, "no pattern knows kernels of 100 ns a step"));
  EXPECT_EQ(
      profile_verdict(c),
      "the prediction agrees with the run to 1 %, with errors that cancel: 3.3 points too few "
      "in unknown (no pattern knows these kernels), 3.3 points too many in idle time");
}

TEST(ProfileComparison, TheVerdictSaysHowFarItIsOffAndWhere) {
  Compared compared;
  for (Track& track : compared.m.timeline.tracks) {
    track.end[0] = 500 * kNs;  // the product takes half as long
    for (std::size_t i = 1; i < 3; ++i) track.start[i] -= 500 * kNs, track.end[i] -= 500 * kNs;
  }
  compared.report.step_time_s = 2.5e-6;
  const ProfileComparison c = compared(recorded().trace);
  EXPECT_NEAR(step_difference(c), -1. / 6, 1e-9);
  EXPECT_EQ(profile_verdict(c),
            "the prediction is 16.7 % too fast: 16.7 points in matmul (most of it in nvjet_hsh)");
}

TEST(ProfileComparison, WaitingWithinCommunicationIsNoErrorOfItsOwn) {
  MadeUpTrace t = recorded();
  for (TraceEvent& e : t.trace.events) {  // the all_reduce begins 900 ns before its peers are ready
    if (t.trace.names[e.name].find("AllReduce") != std::string::npos) e.start_ns -= 900;
  }
  const ProfileComparison c = Compared()(t.trace);
  const auto share = [&](const char* name) {
    return *std::ranges::find(c.shares, name, &ProfileShare::name);
  };
  EXPECT_NEAR(share("exposed_communication").difference_s(), -0.9e-6, 1e-12);
  EXPECT_NEAR(share("idle").difference_s(), 0.9e-6, 1e-12);
  EXPECT_EQ(profile_verdict(c), "the prediction agrees with the run to 1 %");
}

TEST(ProfileComparison, AStepOfOneMicrobatchIsANote) {
  Compared compared;
  compared.m.plan.microbatches = 4;
  const Call call = compared.m.plan.programs[0].calls[0];
  compared.m.plan.programs[0].calls.resize(4, call);
  Track& track = compared.m.timeline.tracks[0];
  for (std::size_t i = 3; i < 12; ++i) {
    track.start.push_back(track.start[i - 3] + 3000 * kNs);
    track.end.push_back(track.end[i - 3] + 3000 * kNs);
  }
  compared.report.step_time_s = 12e-6;
  EXPECT_TRUE(says(compared(recorded().trace),
                   "a step of the trace has 1 products, one of the plan's 4 microbatches as many"));
}

TEST(ProfileComparison, IsJsonAndCsv) {
  const ProfileComparison c = Compared()(recorded().trace);
  const auto json = nlohmann::json::parse(profile_json(c));
  EXPECT_NEAR(json["measured_step_time_s"].get<double>(), 3e-6, 1e-15);
  EXPECT_EQ(json["communication"].size(), 2);
  EXPECT_EQ(json["trace"]["rank"], 0);
  EXPECT_EQ(json["kinds"][0]["kind"], "matmul");
  EXPECT_NE(profile_csv(c).find("\r\nmatmul,1,1,"), std::string::npos);
}

}  // namespace plait::profile_comparison_test
