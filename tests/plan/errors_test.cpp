// Each refusal, by the smallest input that triggers it: its code and the field that it names.
#include <gtest/gtest.h>

#include <string>

#include "core/error.h"
#include "tests/plan/tiny.h"

namespace plait::errors_test {

struct Input {
  Model model = tiny_llama();
  Workload workload = tiny_workload(1);
  Strategy strategy;
};

/// Returns the cure.
std::string expect_refused(const Input& in, const std::string& code, const std::string& path) {
  try {
    make_plan(in.model, in.workload, in.strategy);
    ADD_FAILURE() << code << " is not raised";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, code) << e.what();
    EXPECT_EQ(e.text().where.path, path) << e.what();
    EXPECT_FALSE(e.text().problem.empty());
    EXPECT_FALSE(e.text().expected.empty());
    EXPECT_FALSE(e.text().cure.empty());
    return e.text().cure;
  }
  return "";
}

TEST(Refused, QueryHeadsThatCannotShareKeyValueHeads) {
  Input in;
  in.model.heads = 4, in.model.kv_heads = 3;
  expect_refused(in, "S040", "model.kv_heads");
}

TEST(Refused, OneNormForBranchesThatFollowOneAnother) {
  Input in;
  in.model.shared_norm = true;
  expect_refused(in, "S146", "model.shared_norm");
}

TEST(Refused, NormsAcrossHeadsThatNoRankHasAll) {
  Input in;
  in.model.qk_norm_across_heads = true;
  expect_refused(in, "S147", "model.qk_norm_across_heads");
  in.model.qk_norm = true;
  in.strategy = split({.tp = 2});
  expect_refused(in, "S147", "strategy.tp");
}

TEST(Refused, ModulesThatPredictFurtherTokensWithLearnedPositions) {
  Input in;
  in.model = tiny_gpt();
  in.model.mtp_layers = 1;
  expect_refused(in, "S130", "model.mtp_layers");
}

TEST(Refused, SequenceLongerThanLearnedPositions) {
  Input in;
  in.model = tiny_gpt();
  in.workload.sequence_length = in.model.max_positions + 1;
  expect_refused(in, "S042", "workload.sequence_length");
}

TEST(Refused, BatchThatTheReplicasCannotShare) {
  Input in;
  in.strategy = split({.dp = 2});
  in.workload = tiny_workload(3);
  expect_refused(in, "S043", "workload.global_batch");
  in.workload = tiny_workload(2, 2);  // 2 replicas of 2 sequences need 4
  expect_refused(in, "S043", "workload.global_batch");
}

TEST(Refused, ExpertParallelismWithoutExperts) {
  Input ep;
  ep.strategy.mesh[Axis::kEp] = 2, ep.workload.global_batch = 2;
  expect_refused(ep, "S044", "strategy.ep");
}

Input mixture() {
  Input in;
  in.model.experts = 4, in.model.experts_per_token = 2, in.model.expert_ffn_hidden = 24;
  in.model.mlp_bias = in.model.parallel_attention = false;
  return in;
}

TEST(Refused, MixturesThatCannotBe) {
  Input none = mixture(), biased = mixture(), uneven = mixture();
  none.model.experts_per_token = 5;
  expect_refused(none, "S090", "model.experts_per_token");
  biased.model.mlp_bias = true;
  expect_refused(biased, "S091", "model.mlp_bias");
  uneven.strategy.mesh[Axis::kEp] = 3, uneven.workload.global_batch = 12;
  expect_refused(uneven, "S092", "strategy.ep");
}

TEST(Refused, ExpertsOverTpWithoutSequenceParallelism) {
  Input in = mixture();
  in.strategy = split({.tp = 2});
  in.strategy.experts.axes = AxisSet(Axis::kEp) | Axis::kTp;
  expect_refused(in, "S093", "strategy.expert_axes");
}

TEST(Refused, SequenceWithoutTwoChunksForEachContextRank) {
  Input in;
  in.strategy = split({.cp = 2});
  in.workload.sequence_length = 4 * 2 + 2;
  expect_refused(in, "S014", "workload.sequence_length");
}

TEST(Refused, HeadsThatCannotBeDealtInExchangeForTokens) {
  Input in;
  in.model.heads = in.model.kv_heads = 6, in.model.hidden = 24;
  in.strategy.context.kind = ContextKind::kUlysses;
  in.strategy.share_tokens(4);
  expect_refused(in, "S016", "strategy.context.kind");
}

TEST(Refused, RingWithoutFusedAttention) {
  Input in;
  in.strategy = split({.cp = 2});
  in.strategy.context.kind = ContextKind::kRing;
  in.workload.flash_attention = false;
  expect_refused(in, "S017", "strategy.context.kind");
}

TEST(Refused, MeshThatIsNotOfTheKindOfContextParallelism) {
  Input in;
  in.strategy = split({.ulysses = 2});
  expect_refused(in, "S018", "strategy.context.kind");
}

TEST(Refused, TensorParallelismInPiecesThatHasNone) {
  Input in;
  in.strategy = split({.tp = 2});
  in.strategy.tensor.overlap = TensorOverlap::kRing;
  expect_refused(in, "S026", "strategy.tensor.overlap");
  in.strategy.sequence_parallel = true;
  in.strategy.recompute.kind = Recompute::kOps;
  expect_refused(in, "S027", "strategy.tensor.overlap");
}

TEST(Refused, ZeroPlusPlusWithoutShardedParametersOrNodes) {
  Input in;
  in.workload = tiny_workload(4);
  in.strategy = split({.dp = 2, .fsdp = 2}, 2);
  in.strategy.zero_plus_plus.quantized_weights = true;
  expect_refused(in, "S028", "strategy.zero_plus_plus");
  in.strategy = split({.fsdp = 4}, 3);
  in.strategy.zero_plus_plus.secondary_shard = true;
  expect_refused(in, "S029", "strategy.zero_plus_plus.secondary_shard");
}

TEST(Refused, ZeroBubbleOnOneStage) {
  Input in;
  in.strategy.pipeline.schedule = Schedule::kZbH1;
  expect_refused(in, "S034", "strategy.pipeline.schedule");
}

TEST(Refused, TpThatDoesNotDivideWhatItSplits) {
  // Each of the four in turn is odd.
  const auto odd = [](auto change) {
    Input in;
    in.strategy = split({.tp = 2});
    change(in.model);
    expect_refused(in, "S010", "strategy.tp");
  };
  odd([](Model& m) { m.heads = m.kv_heads = 3; });
  odd([](Model& m) { m.kv_heads = 1; });
  odd([](Model& m) { m.ffn_hidden = 25; });
  odd([](Model& m) { m.vocab = 33; });
}

TEST(Refused, SequenceParallelWithoutTp) {
  Input in;
  in.strategy.sequence_parallel = true;
  expect_refused(in, "S011", "strategy.sequence_parallel");
}

TEST(Refused, SequenceThatTpDoesNotDivide) {
  Input in;
  in.strategy = split({.tp = 2});
  in.strategy.sequence_parallel = true;
  in.workload.sequence_length = 7;
  expect_refused(in, "S012", "workload.sequence_length");
}

TEST(Refused, NumberOfRecomputedLayersWithoutFullRecomputation) {
  for (Recompute kind : {Recompute::kNone, Recompute::kSelective, Recompute::kOps}) {
    Input in;
    in.strategy.recompute.kind = kind, in.strategy.recompute.layers = 1;
    expect_refused(in, "S013", "strategy.recompute.layers");
  }
}

TEST(Refused, EachNthRecomputedLayerWithoutFullRecomputationOfAll) {
  for (const RecomputeOptions& options :
       {RecomputeOptions{Recompute::kNone, -1, 2}, RecomputeOptions{Recompute::kOps, -1, 2},
        RecomputeOptions{Recompute::kFull, 1, 2}, RecomputeOptions{Recompute::kFull, -1, 0}}) {
    Input in;
    in.strategy.recompute = options;
    expect_refused(in, "S015", "strategy.recompute.every");
  }
}

TEST(Refused, ZeroStageThatDoesNotExist) {
  for (int stage : {-1, 4}) {
    Input in;
    in.strategy = split({.dp = 2}, stage);
    in.workload = tiny_workload(2);
    expect_refused(in, "S020", "strategy.zero_stage");
  }
}

TEST(Refused, FsdpAxisThatShardsNothing) {
  Input in;
  in.strategy = split({.fsdp = 2}, 0);
  in.workload = tiny_workload(2);
  expect_refused(in, "S021", "strategy.zero_stage");
}

TEST(Refused, ShardingOverOneRank) {
  for (int stage : {1, 2, 3}) {
    Input in;
    in.strategy = split({}, stage);
    expect_refused(in, "S022", "strategy.zero_stage");
    in.strategy.offload.optimizer = Offload::kCpu;
    const std::string cure = expect_refused(in, "S022", "strategy.zero_stage");
    EXPECT_EQ(cure.find("parameters to \"cpu\"") != std::string::npos, stage == 3) << cure;
  }
}

TEST(Refused, AllReducedGradientsThatAreSharded) {
  Input in;
  in.strategy = split({.dp = 2}, 2);
  in.strategy.data.all_reduce = true;
  in.workload = tiny_workload(2);
  expect_refused(in, "S051", "strategy.data.all_reduce");
}

TEST(Refused, NegativePrefetch) {
  Input in;
  in.strategy = split({.fsdp = 2}, 3);
  in.strategy.fsdp.prefetch = -1;
  in.workload = tiny_workload(2);
  expect_refused(in, "S024", "strategy.fsdp_options.prefetch");
}

TEST(Refused, ShardedGradientsOfATiedTableOnTwoStages) {
  Input in;
  in.model = tiny_gpt(2);
  in.strategy = split({.pp = 2, .fsdp = 2}, 3);
  in.workload = tiny_workload(4);
  expect_refused(in, "S025", "strategy.zero_stage");
}

TEST(Refused, LayersOfALastStageWhereThereIsOneStage) {
  Input in;
  in.model = tiny_llama(4);
  in.strategy.pipeline.last_stage_layers = 3;
  expect_refused(in, "S030", "strategy.pipeline");
}

TEST(Refused, LayersThatThePiecesCannotShare) {
  Input odd;
  odd.model = tiny_llama(3);
  odd.strategy = split({.pp = 2});
  expect_refused(odd, "S030", "strategy.pipeline");
  Input ends = odd;  // both ends given, and they are not all
  ends.strategy.pipeline.first_stage_layers = ends.strategy.pipeline.last_stage_layers = 1;
  expect_refused(ends, "S030", "strategy.pipeline");
  Input many = odd;  // more than there are
  many.strategy.pipeline.first_stage_layers = 4;
  expect_refused(many, "S030", "strategy.pipeline");
}

// Three modules and three layers are 1 or 2 for each of five pieces: the last norm and the output
// matrix are not on one.
TEST(Refused, ModulesTooFewForTheirPieces) {
  Input in;
  in.model = tiny_llama(3);
  in.strategy = split({.pp = 5});
  in.strategy.pipeline.ends_are_layers = true;
  expect_refused(in, "S030", "strategy.pipeline");
}

TEST(Refused, StageBetweenTheEndsWithoutLayers) {
  // It would receive and send the same tensor, so that one message could be taken for the other.
  Input in;
  in.model = tiny_llama(4);
  in.strategy = split({.pp = 4});
  in.strategy.pipeline.first_stage_layers = in.strategy.pipeline.last_stage_layers = 2;
  expect_refused(in, "S030", "strategy.pipeline");
}

TEST(Refused, ChunksWithoutTheInterleavedSchedule) {
  for (std::int64_t chunks : {0, 2}) {
    Input in;
    in.strategy = split({.pp = 2});
    in.strategy.pipeline.chunks = chunks;
    expect_refused(in, "S031", "strategy.pipeline.chunks");
  }
}

TEST(Refused, VWithoutTwoChunks) {
  for (const Schedule kind : {Schedule::kZbV, Schedule::kDualPipeV, Schedule::kDualPipe,
                              Schedule::kVHalf, Schedule::kVMin}) {
    Input one, three;
    one.strategy = three.strategy = split({.pp = 2});
    one.strategy.pipeline.schedule = three.strategy.pipeline.schedule = kind;
    three.strategy.pipeline.chunks = 3;
    expect_refused(one, "S032", "strategy.pipeline.chunks");
    expect_refused(three, "S031", "strategy.pipeline.chunks");
  }
}

TEST(Refused, PassesInTurnsWithoutAnyThatPair) {
  Input in;
  in.strategy = split({.pp = 2});
  in.strategy.pipeline.exchange_overlap = ExchangeOverlap::kPasses;
  expect_refused(in, "S039", "strategy.pipeline.exchange_overlap");
}

/// Microbatches from both ends.
Input both_ways_through(std::int64_t stages, std::int64_t layers, std::int64_t global_batch) {
  Input in;
  in.model = tiny_llama(layers);
  in.workload = tiny_workload(global_batch);
  in.strategy = split({.pp = stages});
  in.strategy.pipeline.schedule = Schedule::kDualPipe, in.strategy.pipeline.chunks = 2;
  return in;
}

TEST(Refused, BothWaysThroughAnOddNumberOfStages) {
  expect_refused(both_ways_through(3, 3, 1), "S036", "strategy.pp");
}

TEST(Refused, BothWaysWithOneMicrobatch) {
  expect_refused(both_ways_through(2, 4, 1), "S038", "strategy.pipeline.schedule");
}

TEST(Refused, BothWaysWithTheOptimizerElsewhere) {
  Input in = both_ways_through(2, 4, 2);
  in.strategy.offload.optimizer = Offload::kCpu;
  expect_refused(in, "S037", "strategy.offload.optimizer");
}

TEST(Refused, LayersByPieceThatAreNotThoseOfTheModel) {
  const std::vector<std::int64_t> lists[] = {{4}, {1, 1, 2}, {1, 2}, {5, -1}};
  for (const std::vector<std::int64_t>& list : lists) {
    Input in;
    in.model = tiny_llama(4);
    in.strategy = split({.pp = 2});
    in.strategy.pipeline.stage_layers = list;
    expect_refused(in, "S035", "strategy.pipeline.stage_layers");
  }
  Input hole;
  hole.model = tiny_llama(4);
  hole.strategy = split({.pp = 4});
  hole.strategy.pipeline.stage_layers = {2, 0, 1, 1};
  expect_refused(hole, "S035", "strategy.pipeline.stage_layers");
  Input twice;
  twice.model = tiny_llama(4);
  twice.strategy = split({.pp = 2});
  twice.strategy.pipeline.stage_layers = {2, 2};
  twice.strategy.pipeline.first_stage_layers = 2;
  expect_refused(twice, "S035", "strategy.pipeline.stage_layers");
}

TEST(Refused, InterleavedWithOneChunkOrOneStage) {
  Input chunk, stage;
  chunk.strategy = split({.pp = 2}), stage.strategy = split({});
  chunk.strategy.pipeline.schedule = stage.strategy.pipeline.schedule = Schedule::kInterleaved;
  stage.strategy.pipeline.chunks = 2;
  expect_refused(chunk, "S032", "strategy.pipeline.chunks");
  expect_refused(stage, "S032", "strategy.pp");
}

TEST(Refused, InterleavedMicrobatchesThatAreNoMultipleOfStages) {
  Input in;
  in.model = tiny_llama(4);
  in.strategy = split({.pp = 2});
  in.strategy.pipeline.schedule = Schedule::kInterleaved, in.strategy.pipeline.chunks = 2;
  in.workload = tiny_workload(3);
  expect_refused(in, "S033", "strategy.pipeline.schedule");
  in.strategy.pipeline.microbatch_group = 3;
  EXPECT_NO_THROW(make_plan(in.model, in.workload, in.strategy));
  in.workload = tiny_workload(4);
  expect_refused(in, "S033", "strategy.pipeline.microbatch_group");
}

}  // namespace plait::errors_test
