// Live memory: activations per layer (Korthikanti et al. 2022, section 4), microbatches in flight,
// gathered weights. Norm statistics, which the paper neglects, are counted apart: two fp32 numbers
// per token for each of the two norms of a layer.
#include "plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "plan/allocating_streams.h"
#include "plan/schedule.h"
#include "tests/plan/tiny.h"

namespace plait::memory_test {

constexpr std::int64_t s = 8, b = 2, h = 16, a = 4;
constexpr std::int64_t kStatistics = 2 * 2 * 4 * s * b;

struct Shape {
  std::int64_t t = 1;
  bool sequence = false, flash = false;
  Recompute recompute = Recompute::kNone;
};

Plan plan_of(const Shape& shape, std::int64_t layers = 2) {
  Strategy strategy = split({.tp = shape.t});
  strategy.sequence_parallel = shape.sequence;
  strategy.recompute.kind = shape.recompute;
  Workload w = tiny_workload(b, b);
  w.flash_attention = shape.flash;
  return make_plan(tiny_gpt(layers), w, strategy);
}

/// Bytes that one more layer keeps between forward and backward: the peak of a plan with one layer
/// more, less that layer's 18 bytes per parameter.
std::int64_t kept_per_layer(const Shape& shape) {
  const Plan two = plan_of(shape, 2), three = plan_of(shape, 3);
  const std::int64_t states = 18 * tensor_named(two, "layer.weights").elements(two.mesh);
  return live_memory(three, 0).peak.value - live_memory(two, 0).peak.value - states;
}

TEST(ActivationMemory, LayerKeeps34sbhAnd5assb) {  // equation 1
  EXPECT_EQ(kept_per_layer({}), 34 * s * b * h + 5 * a * s * s * b + kStatistics);
}

TEST(ActivationMemory, TensorParallelLeavesTenSbhWhole) {  // equation 2
  const std::int64_t t = 2;
  EXPECT_EQ(kept_per_layer({.t = t}),
            s * b * h * (10 + 24 / t) + 5 * a * s * s * b / t + kStatistics);
}

TEST(ActivationMemory, SequenceParallelDividesEverythingByTp) {  // equation 4
  const std::int64_t t = 2;
  EXPECT_EQ(kept_per_layer({.t = t, .sequence = true}),
            (34 * s * b * h + 5 * a * s * s * b + kStatistics) / t);
}

TEST(ActivationMemory, SelectiveRecomputationDropsTheAttentionSquare) {  // equation 6
  const std::int64_t t = 2;
  EXPECT_EQ(kept_per_layer({.t = t, .sequence = true, .recompute = Recompute::kSelective}),
            (34 * s * b * h + kStatistics) / t);
}

TEST(ActivationMemory, FullRecomputationKeepsTheLayersInputOnly) {  // table 2
  EXPECT_EQ(kept_per_layer({.recompute = Recompute::kFull}), 2 * s * b * h);
}

/// Input, query and value, context, log-sum-exp, and the MLP's first product.
TEST(ActivationMemory, RecomputationByOpKeepsAttentionAndEverySecondProduct) {
  const std::int64_t log_sum_exp = 4 * a * s * b;
  EXPECT_EQ(kept_per_layer({.flash = true, .recompute = Recompute::kOps}),
            (2 + 4 + 2 + 8) * s * b * h + log_sum_exp);
  EXPECT_EQ(kept_per_layer({.t = 2, .flash = true, .recompute = Recompute::kOps}),
            2 * s * b * h + ((4 + 2 + 8) * s * b * h + log_sum_exp) / 2);
}

TEST(ActivationMemory, RecomputationByOpKeepsResultsOfReduceScatter) {
  EXPECT_EQ(kept_per_layer({.t = 2, .sequence = true, .flash = true, .recompute = Recompute::kOps}),
            ((2 + 4 + 2 + 8 + 2 * 2) * s * b * h + 4 * a * s * b) / 2);
}

TEST(ActivationMemory, FlashAttentionKeepsOneNumberPerRowInsteadOfTheSquare) {
  const std::int64_t log_sum_exp = 4 * a * s * b;
  EXPECT_EQ(kept_per_layer({.flash = true}), 34 * s * b * h + log_sum_exp + kStatistics);
}

/// The layers that stage 1 of 4 works on, and the memory of each stage, for m microbatches.
std::int64_t peak(Schedule schedule, std::int64_t m, std::size_t stage) {
  Strategy strategy = split({.pp = 4});
  strategy.pipeline.schedule = schedule;
  return live_memory(make_plan(tiny_gpt(8), tiny_workload(m), strategy), stage).peak.value;
}

/// Two layers, one sequence each.
const std::int64_t kMicrobatchOfStage = 2 * (34 * s * h + 4 * a * s + kStatistics / b);

TEST(InFlight, StageOf1f1bKeepsOneMicrobatchMoreThanTheNextOne) {
  // Stages 1 and 2 differ in nothing else: p - 1 and p - 2 microbatches.
  EXPECT_EQ(peak(Schedule::k1f1b, 8, 1) - peak(Schedule::k1f1b, 8, 2), kMicrobatchOfStage);
}

TEST(InFlight, MemoryOf1f1bDoesNotGrowWithMicrobatches) {
  EXPECT_EQ(peak(Schedule::k1f1b, 16, 1), peak(Schedule::k1f1b, 8, 1));
}

TEST(InFlight, GpipeKeepsAllMicrobatches) {
  EXPECT_EQ(peak(Schedule::kGpipe, 9, 1) - peak(Schedule::kGpipe, 8, 1), kMicrobatchOfStage);
}

TEST(InFlight, GpipeWithAsManyMicrobatchesAs1f1bKeepsIsTheSame) {
  // Stage 1 of 4: p - s = 3.
  EXPECT_EQ(peak(Schedule::kGpipe, 3, 1), peak(Schedule::k1f1b, 8, 1));
}

TEST(InFlight, ZeroBubbleHoldsAFixedNumberOfMicrobatches) {
  for (const std::size_t stage : {1U, 2U}) {
    EXPECT_EQ(peak(Schedule::kZbH1, 16, stage), peak(Schedule::kZbH1, 8, stage)) << stage;
  }
  // W follows B at once on the first stage: p = 4 microbatches, or 2 p - 1 = 7.
  EXPECT_EQ(peak(Schedule::kZbH2, 16, 0) - peak(Schedule::kZbH1, 16, 0), 3 * kMicrobatchOfStage);
}

TEST(InFlight, SequentialKeepsOneMicrobatch) {
  EXPECT_EQ(peak(Schedule::kSequential, 8, 1), peak(Schedule::kGpipe, 1, 1));
}

/// Activations at the peak, without what lives within a call.
std::int64_t held(Schedule kind, std::int64_t stage, std::int64_t m) {
  Strategy strategy = split({.pp = 4});
  strategy.pipeline.schedule = kind, strategy.pipeline.chunks = kind_of(kind).fewest_chunks;
  const Plan plan = make_plan(tiny_gpt(8), tiny_workload(m), strategy);
  const StageMemory memory = live_memory(plan, static_cast<std::size_t>(stage));
  std::int64_t out = 0;
  for (const LiveTensor& t : memory.at_peak) {
    if (plan.tensors[t.tensor].name == "mlp_up") out += t.count;
  }
  return out;
}

TEST(InFlight, VKeepsTheActivationsOfAsManyMicrobatchesAsStages) {
  // Two layers per stage, one per chunk; the layer whose W is at work has given up its MLP's
  // products by then. Qi et al. 2023, section 6: 2 p chunks; DeepSeek-AI 2024, table 2: 2 p + 1.
  for (const std::int64_t stage : {0, 1, 3}) {
    EXPECT_EQ(held(Schedule::kZbV, stage, 12), 2 * 4) << stage;
    EXPECT_EQ(held(Schedule::kDualPipeV, stage, 12), 2 * 4 + 1) << stage;
    EXPECT_EQ(held(Schedule::kZbV, stage, 16), held(Schedule::kZbV, stage, 12));
  }
}

std::int64_t persistent(const Plan& plan, TensorClass kind) {
  std::int64_t n = 0;
  for (const Tensor& t : plan.tensors) {
    if (!t.persistent || t.is_view() || t.kind != kind) continue;
    n += t.bytes(plan.mesh).value * (t.scope == Scope::kLayer ? plan.layers : 1);
  }
  return n;
}

/// Weights that are live at once beyond those that stay.
std::int64_t most_gathered(const Plan& plan) {
  std::int64_t most = 0;
  for (const MemoryPoint& p : live_memory(plan, 0, true).curve) {
    most = std::max(most, p.live[static_cast<std::size_t>(TensorClass::kWeight)].value);
  }
  return most - persistent(plan, TensorClass::kWeight);
}

TEST(Fsdp, PrefetchPlusOneUnitsAreGatheredAtOnce) {
  const std::int64_t layer = 2 * count_parameters(tiny_llama()).layer;
  for (std::int64_t prefetch : {0, 1, 2}) {
    Strategy strategy = split({.fsdp = 2}, 3);
    strategy.fsdp.prefetch = prefetch;
    const Plan plan = make_plan(tiny_llama(6), tiny_workload(2), strategy);
    EXPECT_EQ(most_gathered(plan), (prefetch + 1) * layer) << prefetch;
  }
}

TEST(Fsdp, TheRootStaysBesideTheLayers) {
  const ParameterCount n = count_parameters(tiny_llama());
  Strategy strategy = split({.fsdp = 2}, 3);
  strategy.fsdp.root = true;
  const Plan plan = make_plan(tiny_llama(6), tiny_workload(2), strategy);
  EXPECT_EQ(most_gathered(plan), 2 * (n.embedding + n.head + 2 * n.layer));
}

/// The stream that has the memory of the tensor of that name.
Stream pool_of(const Plan& plan, std::string_view name) {
  const std::vector<Stream> streams = allocating_streams(plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].name == name) return streams[i];
  }
  ADD_FAILURE() << "no tensor is called " << name;
  return Stream::kHost;
}

TEST(Pools, WhatArrivesIsAllocatedOnTheStreamOfTheGathers) {
  const auto with = [](FsdpCopies copies) {
    Strategy strategy = split({.fsdp = 2}, 3);
    strategy.fsdp.copies = copies;
    return make_plan(tiny_llama(), tiny_workload(2), strategy);
  };
  const Plan fsdp1 = with(FsdpCopies::kFsdp1), fsdp2 = with(FsdpCopies::kFsdp2);
  EXPECT_EQ(pool_of(fsdp1, "layer.weights"), Stream::kParamGather);
  EXPECT_EQ(pool_of(fsdp2, "layer.weights.arrived"), Stream::kParamGather);
  EXPECT_EQ(pool_of(fsdp2, "layer.weights"), Stream::kCompute) << "copied to";
  EXPECT_EQ(pool_of(fsdp2, "layer.master"), Stream::kCompute) << "there from the beginning";
}

TEST(Pools, WhatIsKeptNarrowArrivesWhereTheOptimizerAllocates) {
  Workload w = tiny_workload(2);
  w.precision.matmul = DType::kFp8, w.precision.narrow_weights = NarrowWeights::kKept;
  const Plan plan = make_plan(tiny_llama(), w, split({.dp = 2}, 1));
  ASSERT_FALSE(tensor_named(plan, "layer_matrices.weights").persistent);
  for (const Stream stream : allocating_streams(plan)) EXPECT_EQ(stream, Stream::kCompute);
}

TEST(Pools, ShareTheTensorsAmongThemAndAreNeverSmallerThanThePeak) {
  Strategy strategy = split({.fsdp = 2}, 3);
  strategy.fsdp.copies = FsdpCopies::kFsdp2;
  const Plan plan = make_plan(tiny_llama(4), tiny_workload(4), strategy);
  const std::vector<Stream> streams = allocating_streams(plan);
  std::size_t counted_in_pools = 0;
  Bytes sum;
  for (const Stream stream : {Stream::kCompute, Stream::kParamGather, Stream::kGradSync}) {
    std::vector<bool> counted;
    for (const Stream on : streams) counted.push_back(on == stream);
    const LiveMemory pool(plan, Place::kDevice, {}, counted);
    counted_in_pools += pool.stays(0).size();
    sum += pool.of(0).peak;
  }
  EXPECT_EQ(counted_in_pools, stays(plan, 0).size());
  EXPECT_GE(sum, live_memory(plan, 0).peak);
}

TEST(Fsdp, TheGradientsOfOneMicrobatchDoNotAddUpWhole) {
  const auto peak = [](std::int64_t microbatches, NoSync no_sync) {
    Strategy strategy = split({.fsdp = 2});
    strategy.zero_stage = 3, strategy.fsdp.no_sync = no_sync;
    return live_memory(make_plan(tiny_llama(), tiny_workload(2 * microbatches), strategy), 0).peak;
  };
  EXPECT_EQ(peak(1, NoSync::kAlways), peak(1, NoSync::kNever));
  EXPECT_GT(peak(2, NoSync::kAlways), peak(2, NoSync::kNever));
}

TEST(Fsdp, WithoutReshardingAllWeightsAreGatheredAtOnce) {
  Strategy strategy = split({.fsdp = 2}, 3);
  strategy.fsdp.reshard_after_forward = false;
  const Plan plan = make_plan(tiny_llama(6), tiny_workload(2), strategy);
  const ParameterCount n = count_parameters(tiny_llama());
  // The embedding is not needed again, and freed.
  EXPECT_EQ(most_gathered(plan), 2 * (6 * n.layer + n.head));
}

TEST(LiveMemory, ClassesAtThePeakAddUpToThePeakAndToItsTensors) {
  const StageMemory m = live_memory(plan_of({}), 0);
  std::int64_t classes = 0, tensors = 0;
  for (Bytes x : m.by_class) classes += x.value;
  for (const LiveTensor& t : m.at_peak) tensors += t.bytes.value;
  EXPECT_EQ(classes, m.peak.value);
  EXPECT_EQ(tensors, m.peak.value);
}

TEST(LiveMemory, CurveReachesThePeakAndEndsWithWhatStays) {
  const Plan plan = plan_of({});
  const StageMemory m = live_memory(plan, 0, true);
  std::int64_t highest = 0;
  for (const MemoryPoint& p : m.curve) {
    std::int64_t sum = 0;
    for (Bytes x : p.live) sum += x.value;
    highest = std::max(highest, sum);
  }
  EXPECT_EQ(highest, m.peak.value);
  EXPECT_EQ(m.curve.back().live[static_cast<std::size_t>(TensorClass::kActivation)].value, 0);
}

/// {the first op with most live, what is live then}, summed over the stays, op by op.
std::pair<std::int64_t, std::int64_t> fullest(const Plan& plan, std::size_t stage) {
  std::vector<std::int64_t> change(static_cast<std::size_t>(op_count(plan, stage)) + 1);
  for (const Stay& stay : stays(plan, stage)) {
    const std::int64_t bytes = plan.tensors[stay.tensor].bytes(plan.mesh).value;
    change[static_cast<std::size_t>(stay.first)] += bytes;
    change[static_cast<std::size_t>(stay.last) + 1] -= bytes;
  }
  std::int64_t live = 0;
  std::pair<std::int64_t, std::int64_t> out = {0, -1};
  for (std::size_t i = 0; i + 1 < change.size(); ++i) {
    live += change[i];
    if (live > out.second) out = {static_cast<std::int64_t>(i), live};
  }
  return out;
}

/// With many microbatches most of a schedule repeats, and is not looked at.
TEST(LiveMemory, PeakIsTheFirstFullestOpOfAllStays) {
  for (const ScheduleKind& kind : kSchedules) {
    for (const int zero : {0, 2, 3}) {
      Strategy strategy = split({.pp = 4, .fsdp = zero > 0 ? 2 : 1});
      strategy.zero_stage = zero;
      strategy.pipeline.schedule = kind.schedule, strategy.pipeline.chunks = kind.fewest_chunks;
      strategy.recompute.kind = zero == 2 ? Recompute::kFull : Recompute::kNone;
      const Plan plan = make_plan(tiny_llama(8), tiny_workload(zero == 2 ? 16 : 128), strategy);
      const LiveMemory memory(plan);
      for (std::size_t stage = 0; stage < 4; ++stage) {
        const StageMemory m = memory.of(stage);
        EXPECT_EQ(std::pair(m.peak_op, m.peak.value), fullest(plan, stage)) << kind.name << zero;
      }
    }
  }
}

TEST(InFlight, VHalfAndVMinKeepAHalfAndAThirdOf1f1b) {
  // Qi et al. 2024, arXiv 2405.15362, table 1 of the authors' space: (p + 2) / 2 and (p + 4) / 3
  // microbatches of a stage, in chunks twice as many, on the fullest stage.
  const auto most = [](Schedule kind, std::int64_t m) {
    std::int64_t out = 0;
    for (std::int64_t stage = 0; stage < 4; ++stage) out = std::max(out, held(kind, stage, m));
    return out;
  };
  for (const std::int64_t m : {12, 16}) {
    EXPECT_EQ(most(Schedule::kVHalf, m), 2 * ((4 + 2) / 2));
    EXPECT_EQ(most(Schedule::kVMin, m), 2 * ((4 + 4) / 3));
  }
}

TEST(BothWays, StateAndActivationsAreThoseOfThePapersTable) {
  // DeepSeek-AI 2024, table 2: parameters twice, the activations of PP + 1 pieces.
  Strategy one = split({.pp = 4}), both = one;
  both.pipeline.schedule = Schedule::kDualPipe, both.pipeline.chunks = 2;
  const auto persistent = [](const Plan& plan, std::size_t stage) {
    const BytesByClass at = live_memory(plan, stage).by_class;
    return at[static_cast<std::size_t>(TensorClass::kWeight)].value +
           at[static_cast<std::size_t>(TensorClass::kOptimizer)].value;
  };
  const Plan once = make_plan(tiny_llama(8), tiny_workload(16), one);
  const Plan twice = make_plan(tiny_llama(8), tiny_workload(16), both);
  for (const std::size_t stage : {0U, 1U}) {
    EXPECT_EQ(persistent(twice, stage), persistent(once, stage) + persistent(once, 3 - stage));
    EXPECT_EQ(persistent(twice, stage), persistent(twice, 3 - stage));
    std::int64_t kept = 0;
    for (const LiveTensor& t : live_memory(twice, stage).at_peak) {
      if (twice.tensors[t.tensor].name == "attention_input") kept = t.count;
    }
    EXPECT_EQ((kept + 1) / 2, 4 + 1) << stage;  // pieces of two layers
  }
}

}  // namespace plait::memory_test
