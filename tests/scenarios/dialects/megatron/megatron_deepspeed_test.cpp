// Arguments of Megatron-DeepSpeed, and older ones of Megatron-LM.

#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_deepspeed_test {

using import_test::imported;
using import_test::refusal;
using import_test::warnings;

constexpr const char* kParts = R"({"model": "llama-3.1-8b", "cluster": "hgx-h100"})";
constexpr const char* kSizes =
    "--micro-batch-size 1 --global-batch-size 64 --seq-length 2048 --bf16 ";

Scenario of(const std::string& more) {
  return imported(Dialect::kMegatronCore, kSizes + more, kParts);
}

TEST(MegatronDeepSpeed, HasItsFrameworkAndZeroStage) {
  const Scenario one = of("--deepspeed --deepspeed_config ds.json --zero-stage 1");
  EXPECT_EQ(one.framework, "megatron-deepspeed");
  EXPECT_EQ(one.strategy.zero_stage, 1);
  EXPECT_EQ(one.strategy.mesh[Axis::kDp], 8);
  EXPECT_FALSE(one.workload.flash_attention);
  EXPECT_EQ(one.workload.precision.gradients, DType::kBf16);
  const Scenario three = of("--deepspeed --zero-stage=3 --use-flash-attn-v2");
  EXPECT_EQ(three.framework, "megatron-deepspeed-flash");
  EXPECT_EQ(three.strategy.zero_stage, 3);
  EXPECT_EQ(three.strategy.mesh[Axis::kFsdp], 8);
  EXPECT_TRUE(three.workload.flash_attention);
  EXPECT_EQ(of("").framework, "megatron-core");
}

TEST(MegatronDeepSpeed, AStageThatOnlyItsFileSaysIsTold) {
  EXPECT_NE(warnings(Dialect::kMegatronCore, "--deepspeed").find("--deepspeed_config says"),
            std::string::npos);
  EXPECT_EQ(warnings(Dialect::kMegatronCore, "--deepspeed --zero-stage 2"), "");
  EXPECT_EQ(refusal(Dialect::kMegatronCore, "--deepspeed\n--zero-stage 4"), "D003 line 2");
}

// deepspeed/runtime/bf16_optimizer.py.
TEST(MegatronDeepSpeed, Bf16WithoutZeroShardsMasterWeightsAllTheSame) {
  const Scenario s = of("--deepspeed --zero-stage 0");
  EXPECT_EQ(s.strategy.zero_stage, 1);
  EXPECT_TRUE(s.strategy.data.all_reduce);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp32);
  EXPECT_NE(warnings(Dialect::kMegatronCore, "--deepspeed --bf16 --zero-stage 0")
                .find("BF16_Optimizer shards"),
            std::string::npos);
  const std::string half =
      "--deepspeed --fp16 --zero-stage 0 --global-batch-size 8 "
      "--micro-batch-size 1 --seq-length 64";
  EXPECT_EQ(imported(Dialect::kMegatronCore, half, kParts).strategy.zero_stage, 0);
}

TEST(MegatronDeepSpeed, CheckpointsAreRecomputation) {
  EXPECT_EQ(of("--deepspeed --checkpoint-activations").strategy.recompute.kind, Recompute::kFull);
  EXPECT_EQ(of("--deepspeed --deepspeed-activation-checkpointing").strategy.recompute.kind,
            Recompute::kNone);
  const RecomputeOptions block =
      of("--activations-checkpoint-method block --activations-checkpoint-num-layers 3")
          .strategy.recompute;
  EXPECT_EQ(block.kind, Recompute::kFull);
  EXPECT_EQ(block.layers, 3);
  EXPECT_NE(warnings(Dialect::kMegatronCore, "--checkpoint-activations --checkpoint-num-layers 2")
                .find("--checkpoint-num-layers of uniform"),
            std::string::npos);
}

TEST(MegatronDeepSpeed, SizesThatGrowAndPositionsInAttentionAreTold) {
  EXPECT_NE(warnings(Dialect::kMegatronCore, "--rampup-batch-size 16 16 5859375").find("W008"),
            std::string::npos);
  const Scenario bloom =
      imported(Dialect::kMegatronCore,
               std::string(kSizes) +
                   "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 "
                   "--pad-vocab-size-to 200 --position-embedding-type alibi",
               R"({"cluster": "hgx-h100"})");
  EXPECT_EQ(bloom.model.positions, PositionKind::kNone);
  EXPECT_EQ(bloom.model.vocab, 200);
}

constexpr const char* kMixture =
    "--deepspeed --zero-stage 0 --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
    "--vocab-size 1024 ";

// megatron/arguments.py of Megatron-DeepSpeed: one expert is none, k is 1, each second layer has
// experts, the last of all among them.
TEST(MegatronDeepSpeed, MixturesHaveItsDefaults) {
  const Scenario s = of(std::string(kMixture) + "--num-experts 16 --moe-expert-parallel-size 8");
  EXPECT_EQ(s.model.experts, 16);
  EXPECT_EQ(s.model.experts_per_token, 1);
  EXPECT_EQ(s.model.expert_ffn_hidden, 256);
  EXPECT_FALSE(s.model.has_experts(0));
  EXPECT_TRUE(s.model.has_experts(1));
  EXPECT_TRUE(s.model.has_experts(3));
  EXPECT_EQ(s.strategy.mesh[Axis::kEp], 8);
  EXPECT_EQ(s.strategy.experts.dispatch, ExpertDispatch::kAllToAll);
  EXPECT_EQ(s.workload.capacity_factor, 1);
  const Scenario other = of(std::string(kMixture) +
                            "--num-experts 8 --topk 2 --expert-interval 1 "
                            "--disable-moe-token-dropping");
  EXPECT_EQ(other.model.experts_per_token, 2);
  EXPECT_TRUE(other.model.has_experts(0));
  EXPECT_EQ(other.workload.capacity_factor, 0);
}

TEST(MegatronDeepSpeed, OneExpertIsNone) {
  const Scenario s = of(std::string(kMixture) + "--num-experts 1 --moe-loss-coeff 0.01 --topk 1");
  EXPECT_EQ(s.model.experts, 0);
  EXPECT_TRUE(s.model.mlp_bias);
}

TEST(MegatronDeepSpeed, OtherMixturesAreRefused) {
  const auto refused = [](const std::string& more) {
    return refusal(Dialect::kMegatronCore, kMixture + more);
  };
  EXPECT_EQ(refused("--num-experts 8 --mlp-type residual"), "D006 line 1");
  EXPECT_EQ(refused("\\\n --num-experts 8 16"), "D006 line 2");
}

TEST(MegatronDeepSpeed, TokensEndATraining) {
  const Scenario s = of("--deepspeed --zero-stage 1 --train-tokens 3e6 --train-samples 900000");
  EXPECT_EQ(s.training->tokens, 3e6);
}

TEST(MegatronDeepSpeed, SequenceParallelismExchangesTokensForHeads) {
  const Scenario s = of("--deepspeed --zero-stage 1 --ds-sequence-parallel-size 4");
  EXPECT_EQ(s.strategy.mesh.size_of(kContextAxes), 4);
  EXPECT_EQ(s.strategy.context.kind, ContextKind::kUlysses);
}

// Embedding, 6 layers and the output matrix on 4 stages: 2 on each.
TEST(MegatronDeepSpeed, StagesMayCountTheEmbedding) {
  const std::string sizes =
      "--deepspeed --zero-stage 1 --pipeline-model-parallel-size 4 "
      "--hidden-size 64 --num-attention-heads 4 --vocab-size 1024 "
      "--pp-partition-method 'type:transformer|embedding' --num-layers ";
  const PipelineOptions p = of(sizes + "6").strategy.pipeline;
  EXPECT_EQ(p.first_stage_layers, 1);
  EXPECT_EQ(p.last_stage_layers, 1);
  EXPECT_NE(warnings(Dialect::kMegatronCore, sizes + "8").find("--pp-partition-method"),
            std::string::npos);
}

TEST(MegatronDeepSpeed, ANormMayFollowTheEmbedding) {
  EXPECT_TRUE(of(std::string(kMixture) + "--embed-layernorm").model.embedding_norm);
}

// What the script writes is what DeepSpeed runs by, with the script's variables in it.
TEST(MegatronDeepSpeed, ItsFileIsReadWhereTheScriptWritesIt) {
  const std::string script =
      "STAGE=2\nCONFIG=ds_$STAGE.json\ncat <<EOT > $CONFIG\n"
      R"({"train_batch_size": 64, "zero_optimization": {"stage": $STAGE,
          "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}})"
      "\nEOT\ndeepspeed pretrain_gpt.py --deepspeed --deepspeed_config=$CONFIG --zero-stage 1 ";
  const std::string rest = "--micro-batch-size 1 --global-batch-size 64 --seq-length 2048 --bf16 ";
  EXPECT_EQ(detect_dialect(script + rest, "run.sh"), Dialect::kMegatronCore);
  const Scenario s = imported(Dialect::kMegatronCore, script + rest, kParts);
  EXPECT_EQ(s.strategy.zero_stage, 2);
  EXPECT_EQ(s.strategy.offload.optimizer, Offload::kCpu);
  const std::string said = warnings(Dialect::kMegatronCore, script + rest);
  EXPECT_NE(said.find("--zero-stage 1 (line 7) is left out"), std::string::npos) << said;
  EXPECT_EQ(said.find("_config"), said.rfind("_config")) << said;
}

TEST(MegatronDeepSpeed, OptionsOfItsOwnSayTheModel) {
  const Scenario s = imported(Dialect::kMegatronCore,
                              std::string(kSizes) +
                                  "--deepspeed --zero-stage 1 --num-layers 2 --hidden-size 64 "
                                  "--num-attention-heads 8 --num-key-value-heads 2 "
                                  "--vocab-size 100 --normalization rmsnorm --cpu-optimizer",
                              R"({"cluster": "hgx-h100"})");
  EXPECT_EQ(s.model.kv_heads, 2);
  EXPECT_EQ(s.model.norm, NormKind::kRmsNorm);
  EXPECT_EQ(s.strategy.offload.optimizer, Offload::kCpu);
}

}  // namespace plait::megatron_deepspeed_test
