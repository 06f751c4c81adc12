// The words by which sources of all kinds call schedules, sharding, offload and types:
// what is read, what is listed among what was assumed, and what is refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/published/attention_of.h"
#include "scenarios/published/scenario_of.h"
#include "scenarios/scenario.h"
#include "tests/scenarios/published_sample.h"

namespace plait::published_words_test {

using nlohmann::json;

TEST(PublishedWords, OfSchedules) {
  json record = published_sample();
  record["parallel"] = {{"pp", 4}, {"dp", 4}};
  const auto reads = [&](const char* text) {
    record["parallel"]["schedule"] = text;
    return scenario(record)["strategy"]["pipeline"]["schedule"];
  };
  EXPECT_EQ(reads("GPipe"), "gpipe");
  EXPECT_EQ(reads("AFAB"), "gpipe");
  EXPECT_EQ(reads("ZB-H1"), "zb-h1");
  EXPECT_EQ(reads("DualPipeV"), "dualpipe-v");
  EXPECT_EQ(reads("DualPipe"), "dualpipe");
  EXPECT_EQ(reads("ZB-V"), "zb-v");
  EXPECT_EQ(scenario(record)["strategy"]["pipeline"]["chunks"], 2);
  record["parallel"]["vpp"] = 2;
  EXPECT_EQ(reads("ZBV"), "zb-v");
  EXPECT_EQ(reads("ZB-H1"), "interleaved");
  EXPECT_TRUE(assumes(record, "schedule \"ZB-H1\" of 2 chunks: interleaved 1F1B"));
  record["parallel"].erase("vpp");
  EXPECT_EQ(reads("ZBH1"), "zb-h1");
  EXPECT_EQ(reads("zb2p"), "zb-2p");
  EXPECT_EQ(reads("1F1B (PipeDream-flush)"), "1f1b");
  EXPECT_TRUE(std::ranges::none_of(scenario_of(run_of(record)).assumed,
                                   [](const std::string& a) { return a.starts_with("schedule"); }));
}

TEST(PublishedWords, OfSchedulesThatAreDenied) {
  json record = published_sample();
  record["parallel"] = {{"pp", 4}, {"dp", 4}};
  const auto reads = [&](const char* text) {
    record["parallel"]["schedule"] = text;
    return scenario(record)["strategy"]["pipeline"]["schedule"];
  };
  EXPECT_EQ(reads("non-interleaved 1F1B"), "1f1b");
  EXPECT_EQ(reads("1F1B (not interleaved)"), "1f1b");
  EXPECT_EQ(reads("not interleaved"), "1f1b");
  EXPECT_EQ(reads("no GPipe: 1F1B"), "1f1b");
  EXPECT_EQ(reads("Interleaved1F1B"), "interleaved");
}

TEST(PublishedWords, OfSchedulesThatNoPlanHasAreRefused) {
  json record = published_sample();
  record["parallel"] = {{"pp", 4}, {"dp", 4}};
  const auto reads = [&](const char* text) {
    record["parallel"]["schedule"] = text;
    return scenario(record)["strategy"]["pipeline"]["schedule"];
  };
  EXPECT_EQ(reads("ZBH2"), "zb-h2");
  EXPECT_EQ(reads("ZB_H2"), "zb-h2");
  EXPECT_EQ(reads("ZBVZeroBubble"), "zb-v");
  for (const char* other :
       {"waves", "zero bubble", "Chimera", "LoopedBFS", "InterleavedZeroBubble", "no 1F1B"})
    EXPECT_THROW(reads(other), NotRepresentable) << other;
  EXPECT_EQ(reads("standard"), "1f1b");
  EXPECT_EQ(reads("PipeDream-Flush"), "1f1b");
}

// A stage holds two of 16 pieces, and so does the one as far from the other end: 13 of 61 layers
// are left over.
TEST(PublishedWords, LayersThatDualPipeLeavesOverGoToTheFirstPieces) {
  json record = published_sample();
  record["model"]["layers"] = 61;
  record["parallel"] = {{"pp", 16}, {"dp", 1}, {"schedule", "DualPipe"}};
  std::vector<int> layers(16, 3);
  std::fill_n(layers.begin(), 13, 4);
  EXPECT_EQ(scenario(record)["strategy"]["pipeline"]["stage_layers"], json(layers));
}

// 126 layers on 16 stages: embedding and head count as a layer each, so that 8 are a stage.
TEST(PublishedWords, ChunksThatAreNotSaidHaveALayerEachEndsIncluded) {
  json record = published_sample();
  record["model"]["layers"] = 126;
  record["parallel"] = {{"pp", 16}, {"schedule", "interleaved 1F1B (vpp not stated)"}};
  const json pipeline = scenario(record)["strategy"]["pipeline"];
  EXPECT_EQ(pipeline["chunks"], 8);
  EXPECT_EQ(pipeline["first_stage_layers"], 0);
}

TEST(PublishedWords, OfSharding) {
  json record = published_sample();
  record["parallel"] = {{"tp", 1}, {"pp", 1}};
  const auto reads = [&](const char* text) {
    record["parallel"]["fsdp"] = text;
    return scenario(record)["strategy"];
  };
  EXPECT_EQ(reads("FULL_SHARD")["fsdp"], 16);
  EXPECT_EQ(reads("HYBRID_SHARD")["fsdp"], 8);
  EXPECT_EQ(reads("HYBRID_SHARD")["dp"], 2);
  EXPECT_EQ(reads("HSDP")["fsdp"], 8);
  EXPECT_EQ(reads("HSDP 4x4")["dp"], 4);
  EXPECT_EQ(reads("SHARD_GRAD_OP")["zero_stage"], 2);
  EXPECT_EQ(reads("DeepSpeed stage 2")["zero_stage"], 2);
  EXPECT_EQ(reads("stage-1")["zero_stage"], 1);
  EXPECT_EQ(reads("Megatron-FSDP (optim_grads)")["zero_stage"], 2);
  EXPECT_EQ(reads("Megatron-FSDP (optim_grads_params)")["fsdp"], 16);
  EXPECT_EQ(reads("HSDP (4 shard x 4 replicate)")["fsdp"], 4);
  EXPECT_EQ(reads("HSDP, 8 replicas")["fsdp"], 2);
  EXPECT_EQ(reads("hybrid shard, 4-way")["dp"], 4);
  EXPECT_EQ(reads("HSDP, dp_replicate=4, dp_shard=4")["fsdp"], 4);
  EXPECT_EQ(reads("MiCS")["fsdp"], 8);
  EXPECT_THROW(reads("HSDP, 3 replicas"), NotRepresentable);
  EXPECT_THROW(reads("hybrid shard, 3-way"), NotRepresentable);
  EXPECT_EQ(reads("FSDP: no CPU offload")["fsdp"], 16);
  EXPECT_FALSE(reads("replicate").contains("zero_stage"));
  for (const char* denied : {"no FSDP", "FSDP disabled", "without sharding", "disabled"}) {
    EXPECT_FALSE(reads(denied).contains("fsdp")) << denied;
    EXPECT_FALSE(reads(denied).contains("zero_stage")) << denied;
  }
  EXPECT_FALSE(reads("NO_SHARD").contains("zero_stage"));
}

TEST(PublishedWords, OfZeroPlusPlusKeepItsPartsInANode) {
  json record = published_sample();
  record["parallel"] = {{"tp", 1}, {"pp", 1}, {"fsdp", "DeepSpeed ZeRO++"}};
  const json all = json::parse(
      R"({"secondary_shard": true, "quantized_weights": true, "quantized_gradients": true})");
  EXPECT_EQ(scenario(record)["strategy"]["zero_plus_plus"], all);
  EXPECT_TRUE(assumes(record, "ZeRO++: hpZ, qwZ and qgZ"));
  record["parallel"]["fsdp"] = "ZeRO-3 with hpZ";
  const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_TRUE(s.strategy.zero_plus_plus.secondary_shard);
  EXPECT_FALSE(s.strategy.zero_plus_plus.quantized_weights);
  EXPECT_EQ(scenario(record)["strategy"]["fsdp"], 8);
}

// Ranks of different experts share the other weights too: of 16 replicas two copies of 8 ranks have
// four shards of each expert where two ranks have all of them.
TEST(PublishedWords, OfHybridShardsBesideExperts) {
  json record = published_sample();
  record["model"].update({{"experts", 8}, {"topk", 2}, {"moe_ffn_hidden", 512}});
  const auto reads = [&](int ep, const json& sharding) {
    record["parallel"] = {{"tp", 1}, {"pp", 1}, {"dp", 16}, {"ep", ep}};
    record["parallel"].update(sharding);
    return scenario(record)["strategy"];
  };
  for (const json& sharding :
       {json{{"fsdp", "HSDP"}}, json{{"fsdp", "HSDP 2x8"}},
        json{{"zero_group", 8}, {"zero_stage", 3}}, json{{"zero_group", 8}, {"zero_stage", 1}}}) {
    const json read = reads(2, sharding);
    EXPECT_EQ(read["ep"], 2) << sharding;
    EXPECT_EQ(read["fsdp"], 4) << sharding;
    EXPECT_EQ(read["dp"], 2) << sharding;
    EXPECT_THROW(reads(8, sharding), NotRepresentable) << sharding;  // one rank of each expert
    EXPECT_THROW(reads(16, sharding), NotRepresentable) << sharding;
  }
  EXPECT_EQ(reads(8, {{"fsdp", "FULL_SHARD"}})["fsdp"], 2);
}

TEST(PublishedWords, OfUlyssesWhoseShardsAreOfAllRanks) {
  json record = published_sample();
  record["source"] = "DeepSpeed-Ulysses";
  record["parallel"] = {{"cp", 16}, {"dp", 1}, {"zero_stage", 3}, {"fsdp", "DeepSpeed ZeRO-3"}};
  const Scenario s = parse_scenario(scenario_of(run_of(record)).json, "sample");
  EXPECT_EQ(s.strategy.context.kind, ContextKind::kUlysses);
  EXPECT_EQ(s.strategy.zero_stage, 3);
  record["parallel"]["cp"] = 1, record["cluster"]["num_gpus"] = 1;
  EXPECT_EQ(parse_scenario(scenario_of(run_of(record)).json, "sample").strategy.zero_stage, 0);
}

TEST(PublishedWords, OfOffload) {
  json record = published_sample();
  record["parallel"] = {{"fsdp", "DeepSpeed ZeRO-3"}};
  const auto reads = [&](const char* text) {
    record["parallel"]["offload"] = text;
    return scenario(record)["strategy"]["offload"];
  };
  EXPECT_EQ(reads("ZeRO-Offload (CPU)"), json::parse(R"({"optimizer": "cpu"})"));
  EXPECT_EQ(reads("parameters to host memory"),
            json::parse(R"({"optimizer": "cpu", "parameters": "cpu"})"));
  EXPECT_EQ(reads("optimizer on NVMe"), json::parse(R"({"optimizer": "nvme"})"));
  EXPECT_EQ(reads("optimizer params"), json::parse(R"({"optimizer": "cpu", "parameters": "cpu"})"));
  EXPECT_EQ(reads("optimizer offload, no parameter offload"),
            json::parse(R"({"optimizer": "cpu"})"));
  for (const char* denied : {"no offload", "no CPU offload", "disabled", "not offloaded"})
    EXPECT_TRUE(reads(denied).is_null()) << denied;
  EXPECT_THROW(reads("disk"), NotRepresentable);
}

TEST(PublishedWords, OfTypesAndOptimizers) {
  json record = published_sample();
  const auto reads = [&](const char* text) {
    record["precision"] = text;
    return scenario(record)["workload"]["precision"]["weights"];
  };
  EXPECT_EQ(reads("bfloat16"), "bf16");
  EXPECT_EQ(reads("fp32"), "fp32");
  EXPECT_EQ(reads("bf16 with fp32 gradients"), "bf16");
  EXPECT_EQ(reads("mixed"), "bf16");
  EXPECT_TRUE(assumes(record, "precision \"mixed\": bf16"));
  EXPECT_THROW(reads("TF32"), NotRepresentable);
  record["precision"] = "bf16";
  record["optimizer"] = "Muon";
  EXPECT_TRUE(assumes(record, "optimizer \"Muon\": Adam"));
}

TEST(PublishedWords, SharesOfThePeakInPercentToo) {
  json record = published_sample();
  record["measured"] = {{"mfu", 43.5}, {"hfu", 0.51}};
  EXPECT_EQ(run_of(record).measured.mfu, 0.435);
  EXPECT_EQ(run_of(record).measured.hfu, 0.51);
  EXPECT_TRUE(run_of(record).measured.says_memory);
}

TEST(PublishedWords, SizesThatOthersLeave) {
  json record = published_sample();
  record["batch"] = {{"global_batch", 64}, {"grad_accum", 16}};  // of two replicas
  EXPECT_EQ(scenario(record)["workload"]["micro_batch"], 2);
  record["cluster"].erase("num_gpus");
  EXPECT_EQ(run_of(record).gpus, 2 * 4 * 2);
}

TEST(PublishedWords, ThatSayNothing) {
  json record = published_sample();
  record["parallel"] = {{"dp", 16}, {"fsdp", "none"}, {"offload", "None"}, {"schedule", "n/a"}};
  record["recompute"] = "not published";
  record["precision"] = "unknown";
  const json strategy = scenario(record)["strategy"];
  EXPECT_FALSE(strategy.contains("fsdp"));
  EXPECT_FALSE(strategy.contains("offload"));
  EXPECT_EQ(strategy["recompute"], "none");
  EXPECT_TRUE(assumes(record, "recomputation: none"));
  EXPECT_TRUE(assumes(record, "precision: bf16"));
}

TEST(PublishedWords, NumbersInQuotesAndYesOrNo) {
  json record = published_sample();
  record["parallel"] = {{"tp", "8"}, {"dp", "2"}, {"cp", "nan"}, {"vpp", "none"}, {"fsdp", false}};
  record["recompute"] = true;
  EXPECT_EQ(scenario(record)["strategy"]["tp"], 8);
  EXPECT_EQ(scenario(record)["strategy"]["recompute"], "full");
  EXPECT_FALSE(scenario(record)["strategy"].contains("fsdp"));
  record["parallel"]["fsdp"] = true;
  EXPECT_EQ(scenario(record)["strategy"]["fsdp"], 2);
}

TEST(PublishedWords, SizesOfZeroSayNothing) {
  json record = published_sample();
  record["parallel"]["cp"] = 0, record["parallel"]["ep"] = 0;
  record["cluster"]["gpus_per_node"] = 0;
  EXPECT_EQ(scenario(record)["cluster"]["devices_per_node"], 8);
  record["model"]["vocab"] = 0;
  EXPECT_EQ(scenario(record)["model"]["vocab"], 50432) << "128 for each of two ranks";
  record["notes"] = "Liger fused kernels";
  EXPECT_FALSE(scenario(record)["workload"].contains("loss_pieces"));
  record["model"]["layers"] = 1;  // fewer than stages
  record["parallel"] = {{"pp", 4}, {"schedule", "interleaved 1F1B (vpp not stated)"}};
  EXPECT_EQ(scenario(record)["strategy"]["pipeline"]["schedule"], "1f1b");
}

TEST(PublishedWords, SizesOfZeroAreListed) {
  json record = published_sample();
  record["parallel"]["tp"] = 0;
  record["batch"]["global_batch"] = 0;
  EXPECT_TRUE(assumes(record, "not read: parallel.tp (0 is no number above 0)"));
  EXPECT_TRUE(assumes(record, "not read: batch.global_batch (0 is no number above 0)"));
}

TEST(PublishedWords, KernelsOfAttention) {
  json record = published_sample();
  const auto reads = [&](const char* words) {
    record["kernel"] = words;
    const AttentionWords out = attention_of(run_of(record), "megatron-core");
    const std::string flash = !out.flash ? "-" : *out.flash ? "flash " : "unfused ";
    return flash + out.kernel + (out.eager_softmax ? "eager softmax" : "");
  };
  EXPECT_EQ(reads(""), "-");
  EXPECT_EQ(reads("FlashAttention-2"), "flash flash2");
  EXPECT_EQ(reads("Flash Attention v1"), "flash flash1");
  EXPECT_EQ(reads("flash_attentionv1.0.8"), "flash flash1");
  EXPECT_EQ(reads("flash-attn 2.5.8"), "flash flash2");
  EXPECT_EQ(reads("FA2"), "flash flash2");
  EXPECT_EQ(reads("FlashAttention"), "flash ");
  EXPECT_EQ(reads("FlashAttention-3"), "flash newest") << "the newest, on Hopper";
  EXPECT_EQ(reads("without FlashAttention"), "unfused ");
  EXPECT_EQ(reads("no flash-attn 2"), "unfused ");
  EXPECT_EQ(reads("fused"), "unfused ") << "Megatron-LM's softmax";
  EXPECT_EQ(reads("torch"), "unfused eager softmax");
}

TEST(PublishedWords, MessagesBetweenStagesBeforeTheyWereCut) {
  json record = published_sample();
  EXPECT_FALSE(scenario(record)["strategy"]["pipeline"].contains("scatter_gather"));
  record["source"] = "Megatron-LM, earlier (before interleaving/scatter-gather)";
  EXPECT_EQ(scenario(record)["strategy"]["pipeline"]["scatter_gather"], false);
}

TEST(PublishedWords, SequenceParallelismIsWantedByExperts) {
  json record = published_sample();
  record["parallel"] = {{"tp", 2}, {"dp", 8}};
  EXPECT_EQ(scenario(record)["strategy"]["sequence_parallel"], false);
  record["model"]["experts"] = 8, record["model"]["topk"] = 2;
  EXPECT_EQ(scenario(record)["strategy"]["sequence_parallel"], true);
  EXPECT_TRUE(assumes(record, "sequence parallelism: with experts and overlap"));
}

TEST(PublishedWords, NamesOfModelsSayWhatTheirFamiliesHave) {
  json record = published_sample();
  record["model"].erase("gated_mlp"), record["model"].erase("ffn_hidden");
  EXPECT_EQ(scenario(record)["model"]["gated_mlp"], false);
  EXPECT_EQ(scenario(record)["model"]["ffn_hidden"], 4 * 2048);
  record["model"]["name"] = "Mistral-7B";
  EXPECT_EQ(scenario(record)["model"]["gated_mlp"], true);
  EXPECT_EQ(scenario(record)["model"]["ffn_hidden"], 5632) << "8 * 2048 / 3 is 5461";
  EXPECT_FALSE(scenario(record)["model"].contains("kv_lora_rank"));
  record["model"]["name"] = "DeepSeek-V3";
  EXPECT_EQ(scenario(record)["model"]["kv_lora_rank"], 512);
}

TEST(PublishedWords, FrameworksByYearAndByLayout) {
  json record = published_sample();
  const auto reads = [&](const char* source) {
    record["source"] = source;
    return framework_of(run_of(record));
  };
  EXPECT_EQ(reads("Shoeybi et al. 2019, Megatron-LM"), "megatron-lm-2020");
  EXPECT_EQ(reads("Korthikanti et al. 2022 (Megatron-LM)"), "megatron-lm-2023");
  EXPECT_EQ(reads("Nemotron-4 340B (Megatron)"), "megatron-core");
  EXPECT_EQ(reads("a page on DeepSpeed"), "megatron-deepspeed-flash");
  EXPECT_EQ(reads("somebody's page"), "megatron-core");
  EXPECT_EQ(reads("somebody's page on FSDP"), "torchtitan");
  record["parallel"] = {{"dp", 16}};
  EXPECT_EQ(reads("somebody's page"), "pytorch");
  EXPECT_EQ(reads("a page on the Trainer of Hugging Face"), "transformers");
  EXPECT_EQ(reads("a page on DeepSpeed"), "deepspeed-zero3");
}

}  // namespace plait::published_words_test
