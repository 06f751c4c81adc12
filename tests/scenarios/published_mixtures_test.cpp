// Published runs of mixtures of experts, latent attention and further tokens, as scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/iteration_flops.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_mixtures_test {

using nlohmann::json;

TEST(PublishedMixtures, TheZooCountsHalfOfCausalSquares) {
  Model m;
  m.layers = 94, m.hidden = 4096, m.vocab = 151936, m.max_positions = 4096;
  m.heads = 64, m.kv_heads = 4, m.head_dim = 128, m.gated_mlp = true;
  m.experts = 128, m.experts_per_token = 8, m.expert_ffn_hidden = 1536;
  const Flops said(245e12 * 19.7 * 256);
  EXPECT_NEAR(said / needed_flops_per_iteration(m, 4096, 2048), 1, 0.01);
  EXPECT_LT(said / megatron_flops_per_iteration(m, 4096, 2048), 0.9);
  json record = published_sample();
  EXPECT_FALSE(run_of(record).measured.half_squares);
  record["source"] = "yanring/Megatron-MoE-ModelZoo best_practice";
  EXPECT_TRUE(run_of(record).measured.half_squares);
}

TEST(PublishedMixtures, DispatchersAndFusedRoutingAreTheRecords) {
  json record = published_sample();
  record["source"] = "yanring/Megatron-MoE-ModelZoo best_practice";
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["notes"] = "dispatcher DeepEP";
  const Scenario zoo = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(zoo.kernels.exchange, Dispatcher::kDeepEp);
  EXPECT_EQ(zoo.kernels.routing, Fusion::kFused);
  EXPECT_TRUE(zoo.host.waits_for_routing);
  record["source"] = "Megatron-LM README";
  record["notes"] = "token drop capacity 1.0; alltoall dispatcher";
  const Scenario plain = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(plain.kernels.exchange, Dispatcher::kNccl);
  EXPECT_EQ(plain.kernels.routing, Fusion::kEager) << "flags that are off unless given";
  EXPECT_FALSE(plain.host.waits_for_routing) << "slots are known";
  record["notes"] = "cuda_graph=full_iteration/[], a2a_overlap=True, dispatcher=hybridep";
  const RecordScenario graphs = scenario_of(run_of(record));
  const Scenario graph = parse_scenario(graphs.json, "sample");
  EXPECT_TRUE(graph.host.graphs);
  EXPECT_FALSE(graph.host.waits_for_routing);
  EXPECT_EQ(graph.kernels.exchange, Dispatcher::kDeepEp);
}

// Megatron-LM's default, which its own tests and FlagPerf's script leave; of other sources nothing
// is known where they say nothing.
TEST(PublishedMixtures, EvenlySpreadTokensAreAssumedUnlessTheRecordSpeaksOfBalance) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto assumes_it = [&record](const char* notes) {
    record["notes"] = notes;
    return std::ranges::count(scenario_of(run_of(record)).assumed,
                              "tokens: spread evenly over the experts") == 1;
  };
  EXPECT_TRUE(assumes_it("dropless"));
  EXPECT_FALSE(assumes_it("dropless + forced balance"));
  EXPECT_FALSE(assumes_it("token drop capacity 1.0"));
}

TEST(PublishedMixtures, TokensAreGatheredWhereARecordOrItsScriptSaysSo) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto gathers = [&](const char* source, const char* notes) {
    record["source"] = source, record["notes"] = notes;
    const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
    return s.strategy.experts.dispatch == ExpertDispatch::kAllGather;
  };
  const char *golden = "NVIDIA Megatron-LM CI golden values", *bridge = "Megatron-Bridge";
  EXPECT_TRUE(gathers(golden, "dispatcher=None"));
  EXPECT_TRUE(gathers(golden, "dispatcher=allgather"));
  EXPECT_FALSE(gathers(golden, "dispatcher=alltoall"));
  EXPECT_FALSE(gathers(bridge, "dispatcher=None"));
  EXPECT_TRUE(gathers("FlagOpen/FlagPerf training/nvidia/mixtral_8x7B-megatron/README.md", ""));
  EXPECT_FALSE(gathers("Megatron-LM README", "dropless"));
}

// Megatron-LM's TEGroupedMLP pads each expert's rows for products in 8 bits, unless they come with
// gaps (HybridEP, a graph of the whole step), or as many as a capacity says.
TEST(PublishedMixtures, RowsOfExpertsArePaddedInEightBits) {
  json record = published_sample();
  record["source"] = "Megatron-LM README";
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto padded = [&](const char* precision, const char* notes) {
    record["precision"] = precision, record["notes"] = notes;
    const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
    EXPECT_EQ(s.workload.capacity_factor > 0, std::string_view(notes).starts_with("token drop"));
    return s.kernels.expert_padding == Fusion::kEager;
  };
  EXPECT_TRUE(padded("FP8", "dropless, alltoall dispatcher"));
  EXPECT_TRUE(padded("FP8", "dispatcher DeepEP"));
  EXPECT_FALSE(padded("bf16", "dropless, alltoall dispatcher"));
  EXPECT_FALSE(padded("FP8", "dispatcher=hybridep"));
  EXPECT_FALSE(padded("FP8", "token drop capacity 1.0; alltoall dispatcher"));
  EXPECT_FALSE(padded("FP8", "cuda_graph=full_iteration/[], a2a_overlap=True"));
}

// YaRN's factor for scores is none that Transformer Engine's kernel knows.
TEST(PublishedMixtures, GptOssRotatesByKernelsOfItsOwn) {
  json record = published_sample();
  record["source"] = "NVIDIA Megatron-Bridge; container/release 26.04";
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto rope = [&](const char* name) {
    record["model"]["name"] = name;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").kernels.rope;
  };
  EXPECT_EQ(rope("GPT OSS 120B"), Fusion::kEager);
  EXPECT_EQ(rope("Qwen3_30B_a3B"), Fusion::kFused);
}

// Megatron-Bridge's own, where the record quotes none.
TEST(PublishedMixtures, ARecipeIsThatOfTheRelease) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["cluster"]["gpu"] = "GB200-NVL72-186GB";
  record["precision"] = "MXFP8";
  record["notes"] = "task: Pre-Training Performance";
  const auto captured = [&](const char* release) {
    record["source"] = std::string("NVIDIA Megatron-Bridge; container/release ") + release;
    const RecordScenario s = scenario_of(run_of(record));
    const bool graphs = parse_scenario(s.json, "sample").host.graphs;
    EXPECT_EQ(graphs, std::ranges::any_of(s.assumed, [](const std::string& text) {
                return text.starts_with("recipe: that of the release");
              }));
    return graphs;
  };
  EXPECT_TRUE(captured("26.06"));
  EXPECT_TRUE(captured("26.08"));
  EXPECT_FALSE(captured("26.04"));
  record["precision"] = "FP8 (finer granularity)";
  EXPECT_TRUE(captured("26.08"));
  record["precision"] = "BF16";
  EXPECT_FALSE(captured("26.08"));
  record["precision"] = "MXFP8", record["cluster"]["gpu"] = "B200-SXM-180GB";
  EXPECT_FALSE(captured("26.08"));
  record["cluster"]["gpu"] = "GB200-NVL72-186GB";
  record["notes"] = "recipe X (tag v0.5.0): cuda_graph=None/None, a2a_overlap=False";
  EXPECT_FALSE(captured("26.08")) << "what the record quotes goes first";
}

// Transformer Engine's cost the host more before 2026; other sources' releases are not known.
TEST(PublishedMixtures, LinearLayersAreAsQuickAsThoseOfTheRelease) {
  json record = published_sample();
  record["framework"] = "NeMo";
  const auto linear_calls = [&](const std::string& source) {
    record["source"] = source;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").host.linear_calls;
  };
  EXPECT_GT(linear_calls("NVIDIA Megatron-Bridge; container/release 25.11"), 0);
  EXPECT_EQ(linear_calls("NVIDIA Megatron-Bridge; container/release 26.02"), 0);
  EXPECT_GT(linear_calls("DGX Cloud"), 0);
}

TEST(PublishedMixtures, CublasIsThatOfTheRelease) {
  json record = published_sample();
  const auto cublas = [&](const std::string& source) {
    record["source"] = source;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").kernels.cublas;
  };
  EXPECT_EQ(cublas("NVIDIA Megatron-Bridge; container/release 25.09"), Cublas::k12);
  EXPECT_EQ(cublas("NVIDIA Megatron-Bridge; container/release 25.11"), Cublas::k13);
  EXPECT_EQ(cublas("NVIDIA NeMo docs; container/release 24.07"), Cublas::k12);
}

TEST(PublishedMixtures, WhatIsComputedAgainIsThatOfTheRelease) {
  json record = published_sample();
  record["model"].update(
      {{"name", "GPT OSS 120B"}, {"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["cluster"]["gpu"] = "B200-SXM-180GB";
  record["source"] = "NVIDIA Megatron-Bridge; container/release 25.11";
  record.erase("recompute");
  const auto recomputed = [&] {
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.recompute.kind;
  };
  EXPECT_EQ(recomputed(), Recompute::kModules);
  record["precision"] = "MXFP8", record["cluster"]["gpu"] = "GB200-NVL72-186GB";
  record["source"] = "NVIDIA Megatron-Bridge; container/release 26.06";
  EXPECT_EQ(recomputed(), Recompute::kNone) << "a captured step keeps all";
  record["cluster"]["gpu"] = "B200-SXM-180GB";
  EXPECT_EQ(recomputed(), Recompute::kModules);
  record["recompute"] = "none";
  EXPECT_EQ(recomputed(), Recompute::kNone) << "what the record quotes goes first";
}

// All replicas are ranks of different experts, and dense weights are sharded over these.
TEST(PublishedMixtures, WeightsAreShardedWhereAllReplicasHaveOtherExperts) {
  json record = published_sample();
  record["model"].update(json{{"experts", 16}, {"topk", 2}});
  const auto stage = [&](int zero, int ep) {
    record["parallel"] = {{"ep", ep}, {"dp", 16}, {"zero_stage", zero}};
    return parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.zero_stage;
  };
  EXPECT_EQ(stage(3, 16), 3);
  EXPECT_EQ(stage(3, 8), 3);
  EXPECT_EQ(stage(2, 16), 2);
}

TEST(PublishedMixtures, ActivationsOnTheHostAreThoseOfTheRelease) {
  json record = published_sample();
  record["model"]["name"] = "LLAMA3_70B";
  record["model"]["layers"] = 80;
  record["cluster"]["gpu"] = "GB200-NVL72-186GB";
  record["source"] = "NVIDIA Megatron-Bridge; container/release 25.11";
  record["parallel"] = {{"tp", 1}, {"pp", 1}, {"zero_stage", 3}};
  record.erase("recompute");
  const auto layers = [&](const char* precision) {
    record["precision"] = precision;
    const OffloadOptions o =
        parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.offload;
    return o.activations == Offload::kNone ? std::int64_t{0} : o.activation_layers;
  };
  EXPECT_EQ(layers("FP8-CS"), 40);
  EXPECT_EQ(layers("BF16"), 20);
  record["parallel"]["zero_stage"] = 1;
  EXPECT_EQ(layers("BF16"), 0);
}

TEST(PublishedMixtures, ExchangesHideBehindPassesWhereTheRecordSaysSoAndTheScheduleCan) {
  json record = published_sample();
  record["source"] = "Megatron-LM README";
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["notes"] = "dispatcher DeepEP. +1F1B EP A2A overlap";
  const auto overlap_with = [&](std::int64_t pp, std::int64_t chunks) {
    record["parallel"].update({{"pp", pp}, {"dp", 8 / pp}, {"vpp", chunks}});
    const RecordScenario s = scenario_of(run_of(record));
    const auto assumed = std::ranges::count_if(
        s.assumed, [](const std::string& text) { return text.starts_with("all_to_all beside"); });
    const Strategy strategy = parse_scenario(s.json, "sample").strategy;
    return std::pair(strategy.pipeline.exchange_overlap == ExchangeOverlap::kPasses, assumed);
  };
  EXPECT_EQ(overlap_with(1, 1), std::pair(true, std::ptrdiff_t{0}));
  EXPECT_EQ(overlap_with(2, 2), std::pair(true, std::ptrdiff_t{0}));
  EXPECT_EQ(overlap_with(2, 1), std::pair(false, std::ptrdiff_t{1}));
}

TEST(PublishedMixtures, DroppedTokensAreThoseThatWordsSpeakOf) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto drops = [&](const char* notes) {
    record["notes"] = notes;
    return parse_scenario(scenario_of(run_of(record)).json, "sample").workload.capacity_factor > 0;
  };
  for (const char* words : {"token-drop capacity factor 1", "drops tokens", "moe_token_drop_policy",
                            "tokens are dropped", "drop_and_pad", "use_tokendrop=True"})
    EXPECT_TRUE(drops(words)) << words;
  for (const char* words : {"attention dropout 0.0", "dropless", "token-dropless", "drop path 0.1",
                            "token dropout 0", "drop-in kernels", "no words"})
    EXPECT_FALSE(drops(words)) << words;
  record["model"]["name"] = "Qwen3 30B (tokendrop)";
  EXPECT_TRUE(drops("BF16"));
}

TEST(PublishedMixtures, ListsOfLayersMayBeginWithDenseOnes) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["extra_args"] = {{"moe-layer-freq", "([0]*4+[1]*20)"}};
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").model.first_dense_layers, 4);
  record["extra_args"] = {{"moe-layer-freq", "([0,1]*12)"}};
  EXPECT_THROW(scenario_of(run_of(record)), NotRepresentable);
}

TEST(PublishedMixtures, ModulesThatPredictFurtherTokensAreThoseOfTheArguments) {
  json record = published_sample();
  record["model"]["gated_mlp"] = false;
  const Model without = parse_scenario(scenario_of(run_of(record)).json, "sample").model;
  EXPECT_EQ(without.positions, PositionKind::kLearned);
  record["extra_args"] = {{"mtp-num-layers", "2"}};
  const Model with = parse_scenario(scenario_of(run_of(record)).json, "sample").model;
  EXPECT_EQ(with.mtp_layers, 2);
  EXPECT_EQ(with.positions, PositionKind::kRotary);
}

TEST(PublishedMixtures, LatentAttentionIsThatOfTheArgumentsOrDeepseeks) {
  json record = published_sample();
  record["model"].update({{"attention", "MLA"}, {"heads", 16}, {"gated_mlp", true}});
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  record["model"].update({{"shared_experts", 2}, {"first_dense_layers", 3}});
  record["extra_args"] = {{"q-lora-rank", "192"}, {"kv-lora-rank", "64"}};
  record["recompute"] = "selective: mlp, mla_up_proj";
  const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(s.strategy.recompute.kind, Recompute::kModules);
  EXPECT_EQ(s.strategy.recompute.modules,
            (std::vector{RecomputeModule::kLatents, RecomputeModule::kMlp}));
  const Model& m = s.model;
  EXPECT_EQ(m.q_lora_rank, 192);
  EXPECT_EQ(m.kv_lora_rank, 64);
  EXPECT_EQ(m.head_dim, 192);
  EXPECT_EQ(m.rope_head_dim, 64);
  EXPECT_EQ(m.v_head_dim, 128);
  record["recompute"] = "moe_act, layernorm";  // as the program's recompute_modules has them
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.recompute.modules,
            (std::vector{RecomputeModule::kNorms, RecomputeModule::kExpertActivations}));
  EXPECT_EQ(m.kv_heads, 16);
  EXPECT_EQ(m.first_dense_layers, 3);
  EXPECT_EQ(m.shared_ffn_hidden, 2 * 512);
  record["extra_args"] = json::object();
  const Model v3 = parse_scenario(scenario_of(run_of(record)).json, "sample").model;
  EXPECT_EQ(v3.q_lora_rank, 1536);
  EXPECT_EQ(v3.kv_lora_rank, 512);
}

TEST(PublishedMixtures, ExpertGroupsAreRanksSideBySide) {
  json record = published_sample();
  record["source"] = "MoE Parallel Folding";
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  // An expert mesh of 8 whole experts: 2 ranks along tp by 4 of the 8 replicas.
  record["cluster"]["num_gpus"] = 16;
  record["parallel"] = {{"tp", 2}, {"sp", true}, {"ep", 8}, {"etp", 1}, {"pp", 1}, {"dp", 8}};
  const Scenario folded = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(folded.strategy.mesh[Axis::kEp], 4);
  EXPECT_EQ(folded.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(folded.strategy.experts.axes, AxisSet(Axis::kEp) | Axis::kTp);
  EXPECT_EQ(folded.model.expert_ffn_hidden, 512);
  // Experts of 2 of 4 ranks each: as many others along tp by 2 of the 4 replicas.
  record["parallel"] = {{"tp", 4}, {"sp", true}, {"ep", 4}, {"etp", 2}, {"pp", 1}, {"dp", 4}};
  const Scenario pairs = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(pairs.strategy.mesh.size, (std::array<std::int64_t, kAxes>{1, 2, 1, 1, 1, 2, 2, 2}));
  // Megatron-LM's default: split as the rest is.
  record["parallel"] = {{"tp", 2}, {"sp", true}, {"ep", 8}, {"pp", 1}, {"dp", 8}};
  const Scenario split = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(split.strategy.mesh[Axis::kEp], 8);
  EXPECT_EQ(split.strategy.mesh[Axis::kDp], 1);
}

}  // namespace plait::published_mixtures_test
