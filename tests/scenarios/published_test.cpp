#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "model/iteration_flops.h"
#include "scenarios/framework.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_test {

using nlohmann::json;

TEST(Published, ARateBecomesATime) {
  const PublishedRun run = run_of(published_sample());
  EXPECT_NEAR(*run.measured.step_s, 64.0 * 1024 / (1000 * 16), 1e-12);
  EXPECT_NEAR(*run.measured.memory_bytes, 20.0 * 1024 * 1024 * 1024, 1);
  EXPECT_EQ(run.measured.memory_statistic, MemoryStatistic::kDevice);
}

TEST(Published, FlagPerfReadsMemoryOffTheDevice) {
  json record = published_sample();
  record["measured"] = {{"peak_memory_gb", 20}};
  EXPECT_EQ(run_of(record).measured.memory_statistic, MemoryStatistic::kReserved);
  record["source"] = "FlagOpen/FlagPerf training/nvidia/llama1_7B-paddle/README.md";
  EXPECT_EQ(run_of(record).measured.memory_statistic, MemoryStatistic::kDevice);
}

TEST(Published, ARateOfZeroSaysNothing) {
  json record = published_sample();
  record["measured"] = {{"samples_per_s", 0}, {"tokens_per_s", 32768}};
  EXPECT_NEAR(*run_of(record).measured.step_s, 2, 1e-12);
}

TEST(Published, TimesThatTheirSourceDisownsAreLeftOut) {
  json record = published_sample();
  record["flags"] = json::array({"tiny-model: launch-overhead bound, memory only"});
  const Measured m = run_of(record).measured;
  EXPECT_FALSE(m.step_s.has_value());
  EXPECT_TRUE(m.says_memory) << "it ran, so it fitted";
  EXPECT_TRUE(m.memory_bytes.has_value());
  record["flags"] = json::array({"implausible: this would exceed peak FLOP/s"});
  EXPECT_FALSE(run_of(record).measured.step_s.has_value());
}

TEST(Published, ARunWhoseMemoryAloneWasPublishedRan) {
  json record = published_sample();
  record["measured"] = json::object();
  EXPECT_FALSE(run_of(record).measured.says_memory);
  record["measured"] = {{"peak_memory_gb", 20}};
  EXPECT_TRUE(run_of(record).measured.says_memory);
  EXPECT_FALSE(run_of(record).measured.out_of_memory);
}

TEST(Published, ProductsInNvfp4LeaveNoLayerPlain) {
  json record = published_sample();
  record["precision"] = "NVFP4";
  const json precision = json::parse(scenario_of(run_of(record)).json)["workload"]["precision"];
  EXPECT_EQ(precision, json::parse(R"({"weights": "bf16", "matmul": "nvfp4"})"));
}

TEST(Published, LayersThatStagesCannotShareAreListed) {
  json record = published_sample();
  record["model"]["layers"] = 75;
  record["parallel"] = {{"tp", 2}, {"pp", 4}, {"dp", 2}};
  const RecordScenario written = scenario_of(run_of(record));
  // 75 = 19 + 19 + 19 + 18.
  EXPECT_EQ(json::parse(written.json)["strategy"]["pipeline"]["stage_layers"],
            json::parse("[19, 19, 19, 18]"));
  EXPECT_EQ(std::ranges::count(written.assumed,
                               "the first stages have one layer more than the last ones"),
            1);
}

TEST(Published, ZeroBubbleIsLaidOutForThePassesThatWereProfiled) {
  json record = published_sample();
  record["parallel"] = {{"pp", 4}, {"schedule", "ZB-2p"}, {"dp", 4}};
  record["stage_profile_ms"] = {{"TF", 18.5}, {"TB", 18}, {"TW", 9}, {"Tcomm", 0.6}};
  const json pipeline = json::parse(scenario_of(run_of(record)).json)["strategy"]["pipeline"];
  EXPECT_EQ(pipeline["schedule"], "zb-2p");
  EXPECT_EQ(pipeline["profile"]["weights"], 9);
  // Table 1: 32 h / (34 h + 5 a s).
  EXPECT_NEAR(pipeline["profile"]["kept"].get<double>(), 32.0 * 2048 / (34 * 2048 + 5 * 16 * 1024),
              1e-12);
}

TEST(Published, EarlyMegatronCountedRecomputedWork) {
  json record = published_sample();
  record["measured"] = {{"tflops_per_gpu", 140}};
  EXPECT_TRUE(run_of(record).measured.hardware_tflops_per_gpu.has_value());
  record["source"] = "NVIDIA NeMo documentation";
  EXPECT_TRUE(run_of(record).measured.model_tflops_per_gpu.has_value());
}

// Qwen3-235B in the zoo's table: 19.7 s and 245 TFLOP/s on 256 GPUs, 2,048 sequences of 4,096. By

// the function that counts half of each square the two agree, by the one that counts all they do

// not.

// Megatron-Core refuses it with stages that have one chunk each.

TEST(Published, LaunchesBlockFromAsManyNodesOnAsTheRecordSays) {
  json record = published_sample();
  record["notes"] = "CUDA_LAUNCH_BLOCKING=1 was the standing workaround at >=2 nodes.";
  const auto blocks = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").host.blocking;
  };
  EXPECT_TRUE(blocks());
  record["notes"] = "CUDA_LAUNCH_BLOCKING=1 was the standing workaround at >=40 nodes.";
  EXPECT_FALSE(blocks());
}

TEST(Published, VTrainSplitsTheVocabularyWithoutPadding) {
  json record = published_sample();
  record["source"] = "vTrain (Bang et al., MICRO 2024)";
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.vocab, 50256);
  record["parallel"] = {{"tp", 1}, {"dp", 16}};
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.vocab, 50257);
}

TEST(Published, VTrainsTimesOfOneNodeAreSumsOfPasses) {
  json record = published_sample();
  const auto is_sum = [&](const char* table) {
    record["source"] = std::string("vTrain (Bang et al., MICRO 2024); data/") + table;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").host.waits_for_passes;
  };
  EXPECT_TRUE(is_sum("ground_truth_single.csv row 2"));
  EXPECT_FALSE(is_sum("ground_truth_multi.csv row 2")) << "measured steps";
}

TEST(Published, TheSourceNamesTheFrameworkBeforeItsSharding) {
  json record = published_sample();
  record["source"] = "NVIDIA NeMo Megatron-Bridge performance summary";
  record["parallel"]["fsdp"] = "Megatron-FSDP";
  EXPECT_EQ(framework_of(run_of(record)), "nemo");
  record["source"] = "FlagOpen/FlagPerf training/nvidia/aquila2_7b-flagscale/README.md";
  record["parallel"].erase("fsdp");
  EXPECT_EQ(framework_of(run_of(record)), "flagscale");
}

TEST(Published, NeMosLauncherHadFlashAttention2AndDropoutInGptAlone) {
  json record = published_sample();
  record["source"] = "NVIDIA NeMo docs performance_summary.md; container/release 24.07";
  EXPECT_EQ(framework_of(run_of(record)), "nemo-launcher");
  const auto scenario = [&] { return parse_scenario(scenario_of(run_of(record)).json, "sample"); };
  record["model"]["gated_mlp"] = false;
  EXPECT_EQ(scenario().kernels.attention, FlashKernel::kFlash2);
  EXPECT_EQ(scenario().model.dropout, 0.1);
  record["model"]["gated_mlp"] = true;
  EXPECT_EQ(scenario().model.dropout, 0);
  record["source"] = "NVIDIA NeMo docs performance_summary.md; container/release 25.04";
  EXPECT_EQ(scenario().kernels.attention, FlashKernel::kNewest);
}

TEST(Published, AsyncTensorParallelismGathersInPieces) {
  json record = published_sample();
  record["source"] = "pytorch/torchtitan benchmarks";
  record["parallel"] = {{"tp", 8}, {"sp", true}, {"dp", 2}};
  record["recompute"] = "full";
  record["notes"] = "2D + torch.compile";
  const auto scenario = [&] { return parse_scenario(scenario_of(run_of(record)).json, "sample"); };
  EXPECT_EQ(scenario().strategy.tensor.overlap, TensorOverlap::kNone);
  EXPECT_EQ(scenario().kernels.sequence, Fusion::kEager);
  record["notes"] = "2D + AsyncTP + torch.compile";
  EXPECT_EQ(scenario().strategy.tensor.overlap, TensorOverlap::kRing);
  EXPECT_EQ(scenario().kernels.sequence, Fusion::kFused);
}

TEST(Published, APaperOnMegatronsOwnShardingIsMegatrons) {
  json record = published_sample();
  record["source"] = "MoE Parallel Folding (arXiv:2504.14960) Table 3";
  record["parallel"]["fsdp"] = "ZeRO-3/FSDP";
  EXPECT_EQ(framework_of(run_of(record)), "megatron-core");
  record["source"] = "elsewhere";
  EXPECT_EQ(framework_of(run_of(record)), "deepspeed-zero3");
}

// Its switches are off unless given: --overlap-grad-reduce, --overlap-param-gather.
TEST(Published, MegatronOverlapsDataParallelismWhereTheRecordSaysSo) {
  json record = published_sample();
  record["source"] = "Megatron-LM README";
  record["parallel"] = {{"tp", 1}, {"dp", 16}, {"zero_stage", 3}, {"fsdp", "Megatron-FSDP"}};
  const auto strategy = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy;
  };
  EXPECT_FALSE(strategy().data.overlap);
  EXPECT_EQ(strategy().fsdp.prefetch, 0);
  for (const char* words : {"--overlap-grad-reduce --overlap-param-gather (README)",
                            "Megatron flags: overlap grad reduce + param gather, TE"}) {
    record["notes"] = words;
    EXPECT_TRUE(strategy().data.overlap) << words;
    EXPECT_EQ(strategy().fsdp.prefetch, 1) << words;
    EXPECT_TRUE(strategy().data.gathers_ahead()) << words;
  }
  record["notes"] = "--overlap-grad-reduce";
  EXPECT_TRUE(strategy().data.overlap);
  EXPECT_FALSE(strategy().data.gathers_ahead());
}

TEST(Published, MegatronSendsTensorParallelPiecesBesideProductsWhereTheRecordSaysSo) {
  json record = published_sample();
  record["source"] = "Megatron-LM README";
  record["parallel"] = {{"tp", 4}, {"sp", true}, {"dp", 4}};
  const auto overlap = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.tensor.overlap;
  };
  EXPECT_EQ(overlap(), TensorOverlap::kWeightGrad);
  record["notes"] = "overlaps: TP --tp-comm-overlap, PP p2p (README text)";
  EXPECT_EQ(overlap(), TensorOverlap::kRing);
}

// Megatron-LM has modules that predict further tokens with rotary positions, or with none.

// What arguments say of the latents, else DeepSeek-V3's; shared experts by their number or width.

TEST(Published, BecomesTheScenarioThatItDescribes) {
  const RecordScenario made = scenario_of(run_of(published_sample()));
  const Scenario s = parse_scenario(made.json, "sample");
  EXPECT_EQ(s.model.layers, 24);
  EXPECT_EQ(s.model.vocab, 50432) << "50,257 up to a multiple of 128 * tp";
  EXPECT_EQ(s.strategy.mesh[Axis::kPp], 4);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(s.strategy.pipeline.chunks, 3);
  EXPECT_EQ(s.strategy.recompute.kind, Recompute::kFull);
  EXPECT_EQ(s.workload.micro_batch, 2);
  EXPECT_EQ(s.cluster.nodes, 2);
  EXPECT_FALSE(s.workload.flash_attention) << "Megatron-LM of 2021";
  EXPECT_EQ(made.framework, "megatron-lm-2021");
}

TEST(Published, FullyShardedRunsUseTheShardingAxis) {
  json record = published_sample();
  record["source"] = "pytorch/torchtitan benchmarks";
  record["parallel"] = {{"tp", 1}, {"pp", 1}, {"dp", 16}, {"zero_stage", 3}};
  const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 16);
  EXPECT_EQ(s.strategy.zero_stage, 3);
}

TEST(Published, CompiledLayersKeepOnlyWhatTheirBackwardReads) {
  json record = published_sample();
  record["source"] = "pytorch/torchtitan benchmarks";
  record["parallel"] = {{"dp", 16}, {"zero_stage", 3}};
  record["recompute"] = "selective (op-level SAC)";
  const auto strategy = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy;
  };
  record["notes"] = "FSDP";
  EXPECT_TRUE(strategy().recompute.unread);
  EXPECT_TRUE(strategy().fsdp.root && !strategy().fsdp.reshard_last_layer);
  record["notes"] = "FSDP + torch.compile";
  EXPECT_EQ(strategy().recompute.kind, Recompute::kOps);
  EXPECT_FALSE(strategy().recompute.unread);
}

TEST(Published, JaxRunsAreShardedAndRecomputedAsTheirScriptsSay) {
  json record = published_sample();
  record["source"] = "github NVIDIA/dgxc-benchmarking maxtext/README_70b.md @v25.02";
  record["framework"] = "MaxText (JAX)";
  record["cluster"]["num_gpus"] = 1024;
  record["parallel"] = {{"tp", 1}, {"pp", 1}, {"zero_stage", 3}, {"fsdp", "JAX FSDP"}};
  record["batch"]["global_batch"] = 2048;
  record.erase("recompute");
  const auto strategy = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy;
  };
  EXPECT_EQ(framework_of(run_of(record)), "maxtext");
  EXPECT_EQ(strategy().mesh[Axis::kFsdp], 128);
  EXPECT_EQ(strategy().mesh[Axis::kDp], 8);
  EXPECT_EQ(strategy().recompute.keep, std::vector{KeptResult::kQkv});
  record["source"] = "github NVIDIA/dgxc-benchmarking maxtext/README_70b.md @v24.11.1";
  record["cluster"]["num_gpus"] = 64;
  EXPECT_EQ(strategy().mesh[Axis::kFsdp], 64);
  EXPECT_EQ(strategy().recompute.keep, (std::vector{KeptResult::kQkv, KeptResult::kOut}));
  record["framework"] = "Paxml (JAX)";
  record["model"]["name"] = "paxml-gpt-5b";
  record["model"].erase("seq_len");
  EXPECT_EQ(strategy().mesh[Axis::kFsdp], 8);
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").workload.sequence_length,
            2048);
}

// Two releases of one benchmark, in a note on both.
TEST(Published, SelectiveRecomputationIsThatOfTheRelease) {
  json record = published_sample();
  record["recompute"] = "selective (24.11 NeMo1 yaml) / none (NeMo2 recipe)";
  const auto kind = [&](const char* release) {
    record["source"] = std::string("NVIDIA/dgxc-benchmarking nemotron/README.md @") + release;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.recompute.kind;
  };
  EXPECT_EQ(kind("v24.11.1"), Recompute::kSelective);
  EXPECT_EQ(kind("v25.02"), Recompute::kNone);
}

TEST(Published, LigersLossTakesTokensAsItsProfileSays) {
  json record = published_sample();
  record["source"] = "stas00/ml-engineering insights/when-to-upgrade-gpus/README.md";
  record["notes"] = "causal model FLOPs, recompute excluded; Liger fused kernels (fused CE)";
  record["model"].update({{"hidden", 4096}, {"vocab", 128256}, {"seq_len", 8192}});
  record["parallel"] = {{"dp", 16}, {"zero_stage", 3}};
  record["batch"]["micro_batch"] = 1;
  const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(s.workload.loss_pieces, kLigersLossPieces);
  EXPECT_EQ(s.memory.loss_bytes_per_logit, 0);
  EXPECT_EQ(s.kernels.norm, Fusion::kFused);
  EXPECT_EQ(s.kernels.attention, FlashKernel::kFlash4);
  EXPECT_TRUE(run_of(record).measured.half_squares);
}

TEST(Published, WhatCannotBeSaidIsRefusedByName) {
  json record = published_sample();
  record["notes"] = "best model/data-parallel configuration, not listed";
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
  record = published_sample();
  record["cluster"]["gpu"] = "TPU v4";
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
  record = published_sample();
  record["model"].erase("layers");
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(Published, WhatARecordLeavesOutIsNamed) {
  json record = published_sample();
  record["batch"].erase("micro_batch");
  record.erase("recompute");
  record["cluster"].erase("interconnect");
  const std::vector<std::string> assumed = scenario_of(run_of(record)).assumed;
  EXPECT_EQ(assumed.size(), 3U + 2) << "beside the profile and the vocabulary's rows";
}

// Of a run that did not fit it is not asked how often it would have gone on.
TEST(Published, WithoutAGlobalBatchEachReplicaHasOneMicroBatch) {
  json record = published_sample();
  record["parallel"] = {{"tp", 2}, {"pp", 1}, {"dp", 8}};
  record["batch"] = {{"micro_batch", 3}};
  const RecordScenario scenario = scenario_of(run_of(record));
  EXPECT_EQ(parse_scenario(scenario.json, "sample").workload.global_batch, 24);
  EXPECT_EQ(scenario.assumed.back(), "global batch: one micro-batch for each replica");
  record["batch"] = json::object();
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(Published, NoListOfRecordsIsRefused) {
  const auto code = [](const std::string& text) {
    try {
      read_published_runs(parse_json(text, "runs.json"));
    } catch (const InputError& e) {
      return e.text().code;
    }
    return std::string();
  };
  EXPECT_EQ(code("{}"), "V001");
  EXPECT_EQ(code("[1]"), "V001");
  EXPECT_EQ(code(R"([{"id": "x"}])"), "V001");
  EXPECT_EQ(code(R"([{"model": {}}])"), "V001");
  EXPECT_EQ(code("[]"), "");
}

}  // namespace plait::published_test
