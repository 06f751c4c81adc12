// --attention-backend: kernels of Transformer Engine that do what is asked (its
// get_attention_backend).

#include "tests/scenarios/dialects/exported.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_attention_test {

using export_test::scenario_at;

constexpr const char* kDense = "llama/llama-3.1-8b-8xh100-fsdp";

Settings settings(const std::string& path, const std::vector<Override>& changes) {
  return settings_of(scenario_at(path, changes), Dialect::kMegatronCore, Launcher::kNone);
}
std::string backend(const std::vector<Override>& changes, const std::string& path = kDense) {
  const Settings all = settings(path, changes);
  return std::ranges::find(all.settings, "--attention-backend", &Setting::key)->value;
}
bool lists(const Settings& s, const std::string& field) {
  return std::ranges::count(s.unsaid, field) == 1;
}

TEST(MegatronAttention, FlashAttentionWantsValuesAsWideAsKeys) {
  EXPECT_EQ(backend({}), "flash");
  EXPECT_EQ(backend({}, "systems/deepseek-v3"), "auto");
}

TEST(MegatronAttention, OfFp32AndOfOldDevicesIsNotFused) {
  for (const Override& change :
       {Override{"workload.precision", "fp32"}, Override{"cluster.device", "v100-sxm2-32"}}) {
    EXPECT_EQ(backend({change}), "unfused");
    EXPECT_TRUE(lists(settings(kDense, {change}), "workload.flash_attention = true"));
  }
}

// Unfused kernels see one rank's tokens alone.
TEST(MegatronAttention, OverRanksOfASequenceIsFusedOrRefused) {
  const std::vector<Override> several = {
      {"strategy.cp", "2"}, {"strategy.fsdp", "4"}, {"workload.flash_attention", "false"}};
  EXPECT_EQ(backend(several), "flash");
  EXPECT_TRUE(lists(settings(kDense, several), "workload.flash_attention = false"));
  for (const auto& [change, path] :
       {std::pair(Override{"workload.precision", "fp32"}, "workload.precision.weights"),
        std::pair(Override{"cluster.device", "v100-sxm2-32"}, "strategy.cp"),
        std::pair(Override{"workload.sequence_length", "8190"}, "workload.sequence_length")}) {
    std::vector<Override> changes = several;
    changes.push_back(change);
    try {
      backend(changes);
      ADD_FAILURE() << path;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D009");
      EXPECT_EQ(e.text().where.path, path);
    }
  }
}

TEST(MegatronAttention, TheKernelOfCudnnHasAName) {
  const Settings s = settings(kDense, {{"kernels.attention", "cudnn"}});
  const std::string text = render(s, Launcher::kNone);
  EXPECT_NE(text.find("\n--attention-backend fused\n"), std::string::npos) << text;
  EXPECT_FALSE(lists(s, "kernels.attention = cudnn"));
  EXPECT_EQ(import_test::imported(Dialect::kMegatronCore, text).kernels.attention,
            FlashKernel::kCudnn);
}

// Megatron-LM issue 2357.
TEST(MegatronAttention, SeesOtherDocumentsOfItsSequence) {
  const Settings s = settings(kDense, {{"workload.documents", R"({"length": 512})"}});
  EXPECT_TRUE(lists(s, "workload.documents.packing = packed"));
}

TEST(MegatronAttention, AMaskThatIsIgnoredIsSaidToBeSo) {
  const auto says = [](const char* more) {
    return import_test::warnings(Dialect::kMegatronCore,
                                 std::string("--bf16 --micro-batch-size 1 ") + more)
               .find("W008: --reset-attention-mask") != std::string::npos;
  };
  EXPECT_TRUE(says("--reset-attention-mask"));
  EXPECT_FALSE(says("--reset-attention-mask --transformer-impl local"));
  EXPECT_FALSE(says(""));
}

// What agrees with what is planned, or says nothing of a step, is no loss.
TEST(MegatronAttention, WordsThatChangeNothingAreReadWhereTheyDoNot) {
  using import_test::warnings;
  const std::string agrees =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 512 "
      "--bf16 --use-flash-attn --no-masked-softmax-fusion --position-embedding-type rope "
      "--no-position-embedding --moe-router-load-balancing-type aux_loss --moe-z-loss-coeff 1e-3";
  EXPECT_EQ(warnings(Dialect::kMegatronCore, agrees), "");
  EXPECT_EQ(warnings(Dialect::kMegatronCore,
                     "--bf16 --attention-backend unfused --no-masked-softmax-fusion"),
            "W007: not read: --no-masked-softmax-fusion\n");
}

TEST(MegatronAttention, RanksOfLatentsAloneAreToldToChangeNothing) {
  EXPECT_EQ(import_test::warnings(Dialect::kMegatronCore,
                                  "--num-layers 2 --hidden-size 64 --num-attention-heads 4 "
                                  "--padded-vocab-size 512 --bf16 --kv-lora-rank 512"),
            "W008: --kv-lora-rank without --multi-latent-attention is read as plain attention, "
            "which is what Megatron-LM does\n");
}

// Megatron-LM's own layers, as all were before Transformer Engine came, have one kernel behind the
// other.
TEST(MegatronAttention, OfItsOwnLayersIsFusedWhereFlashIsAskedFor) {
  const auto is_fused = [](const std::string& more) {
    return import_test::imported(Dialect::kMegatronCore, "--bf16 --micro-batch-size 1 " + more)
        .workload.flash_attention;
  };
  EXPECT_TRUE(is_fused("--transformer-impl transformer_engine"));
  EXPECT_FALSE(is_fused("--transformer-impl local"));
  EXPECT_TRUE(is_fused("--transformer-impl local --use-flash-attn"));
  for (const char* old : {"--DDP-impl local", "--activations-checkpoint-method uniform"}) {
    EXPECT_FALSE(is_fused(old)) << old;
    EXPECT_TRUE(is_fused(std::string(old) + " --use-flash-attn")) << old;
    EXPECT_TRUE(is_fused(std::string(old) + " --transformer-impl transformer_engine")) << old;
  }
}

TEST(MegatronAttention, WhatIsReadByAnOldOptionIsSaid) {
  const auto said = [](const std::string& more) {
    return import_test::warnings(Dialect::kMegatronCore, "--bf16 --micro-batch-size 1 " + more);
  };
  EXPECT_EQ(said("--transformer-impl local"), "");
  EXPECT_EQ(said("--checkpoint-activations"),
            "W008: attention is read as not fused, as it was by default when there was "
            "--checkpoint-activations\n");
  EXPECT_EQ(said("--transformer-impl local --attention-backend flash"),
            "W008: --attention-backend flash changes nothing with --transformer-impl local: "
            "attention is not fused\n");
}

// Transformer Engine's variables decide where --attention-backend leaves it open.
TEST(MegatronAttention, KernelsThatTheScriptForbidsAreNotTaken) {
  const auto read = [](const std::string& before, const std::string& more = "") {
    return import_test::imported(Dialect::kMegatronCore,
                                 before + "\npretrain_gpt.py --bf16 --seq-length 4096 " + more);
  };
  const Scenario none = read("export NVTE_FLASH_ATTN=0\nexport NVTE_FUSED_ATTN=0");
  EXPECT_FALSE(none.workload.flash_attention);
  const Scenario cudnn = read("export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=1");
  EXPECT_TRUE(cudnn.workload.flash_attention);
  EXPECT_EQ(cudnn.kernels.attention, FlashKernel::kCudnn);
  EXPECT_NE(read("NVTE_FUSED_ATTN=0").kernels.attention, FlashKernel::kCudnn);
  EXPECT_TRUE(read("export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0", "--attention-backend flash")
                  .workload.flash_attention);
  EXPECT_TRUE(read("# export NVTE_FLASH_ATTN=0 NVTE_FUSED_ATTN=0").workload.flash_attention);
}

}  // namespace plait::megatron_attention_test
